"""Losses and data-dependent sizes, on the device named first; one JSON line of all of them.

AdamW divides a gradient by its own size, so a gradient that is 0 but for rounding (a bias in front of a BatchNorm, a
key's bias in front of a softmax) becomes a step of the whole learning rate, in a direction that rounding chose: in
float32 such a gradient is as large as AdamW's epsilon of 1e-8. In float64 it is 1e-17, and AdamW is compared there. SGD
passes errors on as they are and is compared in float32.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import torch
from torch import nn
from torch.nn import functional

device = sys.argv[1]
facts: dict[str, Any] = {}


def train(model: nn.Module, loss_of: Any, optimizer: torch.optim.Optimizer, steps: int = 4) -> list[float]:
    generator = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(steps):
        loss = loss_of(model, generator)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def convolutional(optimizer: Any, dtype: torch.dtype = torch.float32) -> list[float]:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, stride=2),
        nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    ).to(device, dtype)  # fmt: skip

    def loss_of(net: nn.Module, generator: torch.Generator) -> torch.Tensor:
        x = torch.randn(8, 3, 16, 16, generator=generator).to(device, dtype)
        return functional.cross_entropy(net(x), torch.randint(0, 10, (8,), generator=generator).to(device))

    losses = train(model, loss_of, optimizer(model.parameters()))
    model.eval()
    return [*losses, model(torch.ones(2, 3, 16, 16).to(device, dtype)).sum().item()]


def attention(optimizer: Any, dtype: torch.dtype = torch.float32) -> list[float]:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.Embedding(50, 32), nn.TransformerEncoder(layer, 2), nn.Linear(32, 50))
    model.to(device, dtype)

    def loss_of(net: nn.Module, generator: torch.Generator) -> torch.Tensor:
        x = torch.randint(0, 50, (4, 24), generator=generator).to(device)
        return functional.cross_entropy(net(x).flatten(0, 1), x.flatten())

    return train(model, loss_of, optimizer(model.parameters()))


def recurrent(kind: type[nn.RNNBase]) -> list[float]:
    torch.manual_seed(0)
    model = kind(8, 16, 2, batch_first=True, bidirectional=True).to(device)

    def loss_of(net: nn.Module, generator: torch.Generator) -> torch.Tensor:
        return net(torch.randn(4, 10, 8, generator=generator).to(device))[0].pow(2).mean()

    return train(model, loss_of, torch.optim.SGD(model.parameters(), lr=0.5))


def bert() -> list[float]:
    import transformers

    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64, vocab_size=100,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = transformers.BertForMaskedLM(config).to(device)

    def loss_of(net: nn.Module, generator: torch.Generator) -> torch.Tensor:
        x = torch.randint(0, 100, (4, 24), generator=generator).to(device)
        return net(input_ids=x, labels=x).loss

    return train(model, loss_of, torch.optim.SGD(model.parameters(), lr=0.1))


def sizes() -> list[int]:
    """Sizes and numbers that depend on data; whole numbers, so that equality is exact."""
    x = torch.arange(-20, 30).to(device)
    mask = x % 3 == 0
    counts = x.clamp(0, 4)
    put = x.clone()
    put[mask] = torch.arange(int(mask.sum()), device=device)
    kept = x.float().masked_fill(mask, 0.0)
    return [
        len(mask.nonzero()), len(x[mask]), len(x.masked_select(mask)), len(torch.where(mask)[0]), len(counts.unique()),
        int(put.sum()), len(counts.repeat_interleave(counts)), len(counts.bincount()), int(kept.sum()),
        int((x > 5).any()), int(torch.equal(x, x.clone())), int(torch.equal(x, x + 1)), int(x.argmax()),
        int(x.sort(descending=True)[0][3]), int(x.topk(3)[0].sum()), int(x.cumsum(0)[-1]),
    ]  # fmt: skip


def checkpointed_dropout() -> bool:
    """Recomputing a block repeats its dropout: its gradient is zero exactly where the output is."""
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    x = torch.ones(1000).to(device).requires_grad_()
    y = checkpoint(lambda t: functional.dropout(t * 2, 0.5), x, use_reentrant=False)
    y.sum().backward()
    dropped = int((y == 0).sum())
    return 400 < dropped < 600 and bool(((y == 0) == (x.grad == 0)).all())


facts["cnn, SGD"] = convolutional(lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))
facts["cnn, fused AdamW"] = convolutional(lambda p: torch.optim.AdamW(p, lr=1e-2, fused=True), torch.float64)
facts["transformer, SGD"] = attention(lambda p: torch.optim.SGD(p, lr=0.1))
facts["transformer, AdamW"] = attention(lambda p: torch.optim.AdamW(p, lr=1e-2), torch.float64)
for layer_kind in (nn.LSTM, nn.GRU, nn.RNN):
    facts[layer_kind.__name__] = recurrent(layer_kind)
facts["sizes"] = sizes()
facts["checkpointed dropout"] = checkpointed_dropout()
if "bert" in sys.argv:
    facts["bert"] = bert()
sys.stdout.write(json.dumps(facts) + "\n")
