# vramfit doctor --gpu 2xrtx3060 -- python wrong_device.py
import torch


def load_data(device: str) -> list[torch.Tensor]:
    return [torch.empty(2 << 30, dtype=torch.uint8).cuda() for _ in range(8)]  # the current card, which is 0


load_data("cuda:1")
