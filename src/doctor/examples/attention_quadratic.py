# vramfit doctor --gpu rtx3060 -- python attention_quadratic.py
import torch


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5  # (batch, heads, N, N)
    return torch.softmax(scores, dim=-1) @ v


x = torch.zeros(2, 16, 8192, 64, device="cuda", requires_grad=True)  # N = 8192: 8 GiB of scores
attention(x, x, x).mean().backward()
