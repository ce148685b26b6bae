"""TRL: group relative policy optimization with GRPOTrainer; it generates while it trains."""

import tiny
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer

settings = GRPOConfig(
    output_dir="out",
    max_steps=4,
    per_device_train_batch_size=4,
    num_generations=4,
    max_completion_length=32,
    report_to="none",
    save_strategy="no",
)
folder = tiny.llama()
GRPOTrainer(
    model=AutoModelForCausalLM.from_pretrained(folder),
    reward_funcs=lambda completions, **_: [float(len(str(words))) for words in completions],
    args=settings,
    train_dataset=Dataset.from_list([{"prompt": row["prompt"]} for row in tiny.data_set("dpo")]),
    processing_class=AutoTokenizer.from_pretrained(folder),
).train()
