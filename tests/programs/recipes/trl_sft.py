"""TRL: supervised fine-tuning with SFTTrainer."""

import tiny
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

settings = SFTConfig(output_dir="out", max_steps=6, per_device_train_batch_size=4, report_to="none", save_strategy="no")
SFTTrainer(model=tiny.llama(), args=settings, train_dataset=Dataset.from_list(tiny.data_set("sft"))).train()
