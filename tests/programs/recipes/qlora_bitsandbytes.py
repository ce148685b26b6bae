"""QLoRA: 4-bit weights by bitsandbytes' own kernels, paged 8-bit AdamW."""

import bitsandbytes
import tiny
import torch
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

four_bits = BitsAndBytesConfig(
    load_in_4bit=True,
    bnb_4bit_quant_type="nf4",
    bnb_4bit_use_double_quant=True,
    bnb_4bit_compute_dtype=torch.bfloat16,
)
model = AutoModelForCausalLM.from_pretrained(tiny.llama(), quantization_config=four_bits, device_map={"": 0})
model = prepare_model_for_kbit_training(model)
model = get_peft_model(model, LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"))
optimizer = bitsandbytes.optim.PagedAdamW8bit(model.parameters(), 1e-4)
for _ in range(6):
    tokens = torch.randint(0, 1000, (8, 256)).cuda()
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
