# vramfit doctor --gpu rtx3060 -- python fragmentation.py
import torch

MIB = 1 << 20
pieces = [torch.empty(8 * MIB, dtype=torch.uint8, device="cuda") for _ in range(1280)]  # 10 GiB
del pieces[::2]  # every other one is free again: 5 GiB, in pieces of 8 MiB
torch.empty(2048 * MIB, dtype=torch.uint8, device="cuda")
