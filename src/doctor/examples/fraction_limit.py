# vramfit doctor --gpu rtx3060 -- python fraction_limit.py
import torch

torch.cuda.set_per_process_memory_fraction(0.25)
kept = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(4)]
