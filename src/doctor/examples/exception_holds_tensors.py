# vramfit doctor --gpu rtx3060 -- python exception_holds_tensors.py
import torch


def step(rows: int) -> torch.Tensor:
    hidden = torch.zeros(rows, 1 << 20, device="cuda")
    return hidden * 2 + hidden.square()


try:
    step(1600)
except torch.cuda.OutOfMemoryError:
    step(800)  # the exception still holds `hidden` of the first attempt: 6.25 GiB
