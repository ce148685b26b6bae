"""torchao: a model quantized after loading; argument `int8` or `fp8` (its int4 needs the package mslk)."""

import sys

import tiny
import torch
from torchao import quantization
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained(tiny.llama(), dtype=torch.bfloat16).cuda().eval()
chosen = {
    "int8": lambda: quantization.Int8WeightOnlyConfig(),
    "fp8": lambda: quantization.Float8WeightOnlyConfig(),
}[sys.argv[1]]
quantization.quantize_(model, chosen())
with torch.no_grad():
    for _ in range(3):
        model(input_ids=torch.randint(0, 1000, (4, 128)).cuda())
