# vramfit doctor --gpu rtx3060 -- python single_huge_allocation.py
import torch

a = torch.zeros(80_000, 1, device="cuda")
b = torch.zeros(80_000, device="cuda")
print((a - b).square().mean())  # meant element by element; broadcasting makes 80000 x 80000
