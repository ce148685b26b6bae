"""Llama-7B in bf16: a forward pass of 2048 tokens and a step of fine-tuning its last block."""

from __future__ import annotations

import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.set_default_dtype(torch.bfloat16)
config = LlamaConfig()  # the 7B model's sizes are the defaults
with torch.device("cuda"):
    model = LlamaForCausalLM(config)
for parameter in model.parameters():
    parameter.requires_grad_(False)
trained = list(model.model.layers[-1].parameters())
for parameter in trained:
    parameter.requires_grad_(True)
optimizer = torch.optim.AdamW(trained)
tokens = torch.zeros(1, 2048, dtype=torch.long, device="cuda")
model(input_ids=tokens, labels=tokens).loss.backward()
optimizer.step()
