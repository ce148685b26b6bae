"""What the programs of this folder are made of: small networks, data sets, and the plainest training step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CARD = "cuda"
WIDTH = 256
PROGRAMS: dict[str, Callable[[], None]] = {}


def program(function: Callable[[], None]) -> Callable[[], None]:
    PROGRAMS[function.__name__] = function
    return function


class Net(nn.Module):
    def __init__(self, width: int = WIDTH, depth: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


class Rows(Dataset[torch.Tensor]):
    """Samples of WIDTH numbers, or of `rows(index)` rows of them."""

    def __init__(self, count: int, rows: Callable[[int], int] | None = None, width: int = WIDTH) -> None:
        self.count, self.rows, self.width = count, rows, width

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> torch.Tensor:
        if self.rows is None:
            return torch.ones(self.width)
        return torch.ones(self.rows(index), self.width)


def padded(samples: list[torch.Tensor]) -> torch.Tensor:
    return nn.utils.rnn.pad_sequence(samples, batch_first=True)


def loader(count: int, size: int = 16, rows: Callable[[int], int] | None = None, **options: Any) -> DataLoader[Any]:
    if rows is not None:
        options.setdefault("collate_fn", padded)
    return DataLoader(Rows(count, rows), size, **options)


def setup(width: int = WIDTH, depth: int = 4, **options: Any) -> tuple[Net, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = Net(width, depth).to(CARD)
    return model, torch.optim.AdamW(model.parameters(), lr=1e-3, **options)


def step(model: nn.Module, optimizer: torch.optim.Optimizer, x: torch.Tensor) -> torch.Tensor:
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def rows(count: int = 64, width: int = WIDTH) -> torch.Tensor:
    return torch.ones(count, width, device=CARD)


def evaluate(model: nn.Module, batches: int = 4, size: int = 512) -> None:
    model.eval()
    with torch.no_grad():
        for _ in range(batches):
            model(rows(size))
    model.train()


def endless(data: DataLoader[Any]) -> Iterator[Any]:
    while True:
        yield from data
