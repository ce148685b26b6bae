"""xformers: a small decoder that is trained with memory_efficient_attention; argument: the operator it takes."""

from __future__ import annotations

import sys

import torch
from torch import nn
from xformers.ops import LowerTriangularMask, fmha, memory_efficient_attention

OPERATORS = {"cutlass": (fmha.cutlass.FwOp, fmha.cutlass.BwOp), "flash": (fmha.flash.FwOp, fmha.flash.BwOp)}
HEADS, WIDTH = 8, 512


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.together, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.together(self.before(x)).unflatten(-1, (3, HEADS, -1)).unbind(2)
        seen = memory_efficient_attention(query, key, value, LowerTriangularMask(), op=OPERATORS[sys.argv[1]])
        x = x + self.out(seen.flatten(2))
        return x + self.wide(self.between(x))


model = nn.Sequential(nn.Embedding(1000, WIDTH), *[Block() for _ in range(4)], nn.Linear(WIDTH, 1000)).cuda().bfloat16()
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
for _ in range(6):
    tokens = torch.randint(0, 1000, (4, 1025)).cuda()
    loss = nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
