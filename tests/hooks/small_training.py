"""A small training that prints what it came to: parameters, buffers and the shapes it saw."""

from __future__ import annotations

import pytest

TRAINING = """
    import json, torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    data = TensorDataset(torch.randn(16, 6), torch.randn(16, 3))
    layers = [nn.Linear(6, 12), nn.Tanh(), {middle} nn.Linear(12, 3)]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.{optimizer}
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    shapes = []
    for epoch in range(2):
        for x, y in DataLoader(data, batch_size=8):
            shapes.append(list(x.shape))
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            scheduler.step()
    values = {{name: value.tolist() for name, value in model.state_dict().items()}}
    print(json.dumps({{"values": values, "shapes": shapes, "lr": scheduler.get_last_lr()[0],
                       "optimizer": type(optimizer).__name__}}))
"""
SGD = "SGD(model.parameters(), lr=0.1, momentum=0.9)"


def training(middle: str = "", optimizer: str = SGD) -> str:
    return TRAINING.format(middle=middle, optimizer=optimizer)


def assert_close(left: dict, right: dict) -> None:
    assert left.keys() == right.keys()
    for name in left:
        assert (
            left[name] == pytest.approx(right[name], rel=1e-4, abs=1e-6)
            if not isinstance(left[name][0], list)
            else [row == pytest.approx(other, rel=1e-4, abs=1e-6) for row, other in zip(left[name], right[name])].count(
                False
            )
            == 0
        ), name
