"""TRL: direct preference optimization with DPOTrainer and its reference model."""

import tiny
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer

settings = DPOConfig(output_dir="out", max_steps=6, per_device_train_batch_size=4, report_to="none", save_strategy="no")
folder = tiny.llama()
DPOTrainer(
    model=AutoModelForCausalLM.from_pretrained(folder),
    args=settings,
    train_dataset=Dataset.from_list(tiny.data_set("dpo")),
    processing_class=AutoTokenizer.from_pretrained(folder),
).train()
