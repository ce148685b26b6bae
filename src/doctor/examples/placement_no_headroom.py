# vramfit doctor --gpu rtx3060 -- python placement_no_headroom.py
import torch
from torch import nn


def generate(model: nn.Module, prompts: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        return model(prompts)


# Weights of 10.5 GiB on a card of 12: there they fit, and nothing else does.
model = nn.Sequential(*(nn.Linear(8192, 8192, bias=False, device="cuda") for _ in range(42)))
generate(model, torch.zeros(16384, 8192, device="cuda"))
