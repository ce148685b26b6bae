# vramfit doctor --gpu rtx3060:2GiB -- python checkpoint_kept_on_gpu.py
import torch
from torch import nn

model = nn.Linear(8192, 8192, bias=False, device="cuda")  # 256 MiB
torch.save(model.state_dict(), "model.pt")
checkpoints = [torch.load("model.pt") for _ in range(8)]  # onto the card they were saved from, and kept
