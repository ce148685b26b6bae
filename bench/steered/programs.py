"""Programs whose values steer them, each in its plainest form: `programs.py NAME`.

They are small enough to be run with `--values cpu` too. A program that goes wrong over values that it reads (a loop
that never ends, counts that do not add up, an index out of range) fails.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

CARD = "cuda"
PROGRAMS: dict[str, Callable[[], None]] = {}


def program(function: Callable[[], None]) -> Callable[[], None]:
    PROGRAMS[function.__name__] = function
    return function


def train(parameters: Any, loss_of: Callable[[], torch.Tensor], steps: int = 3) -> float:
    optimizer = torch.optim.AdamW(list(parameters))
    for _ in range(steps):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def _detector(name: str, **options: Any) -> None:
    from torchvision.models import detection

    model = getattr(detection, name)(weights=None, weights_backbone=None, num_classes=5, **options).to(CARD)
    images = [torch.rand(3, 256, 300).to(CARD) for _ in range(2)]
    boxes = torch.tensor([[10.0, 10, 100, 120], [50, 60, 200, 240]])
    truth = {"boxes": boxes, "labels": torch.tensor([1, 2]), "masks": torch.ones(2, 256, 300, dtype=torch.uint8)}
    targets = [{key: value.to(CARD) for key, value in truth.items()} for _ in images]
    train((p for p in model.parameters() if p.requires_grad), lambda: sum(model(images, targets).values()), 2)


@program
def faster_rcnn() -> None:
    _detector("fasterrcnn_resnet50_fpn", min_size=256, max_size=320)


@program
def mask_rcnn() -> None:
    _detector("maskrcnn_resnet50_fpn", min_size=256, max_size=320)


@program
def retinanet() -> None:
    _detector("retinanet_resnet50_fpn", min_size=256, max_size=320)


@program
def ssd() -> None:
    _detector("ssd300_vgg16")


def _generate(**options: Any) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=32000, **sizes)).to(CARD).eval()
    ids = torch.randint(10, 31000, (3, 16)).to(CARD)
    mask = torch.ones_like(ids)
    mask[0, :5] = 0
    found = model.generate(ids, attention_mask=mask, max_new_tokens=32, pad_token_id=0, **options)
    assert found.size(1) == 48, found.shape


@program
def generate_greedily() -> None:
    _generate(do_sample=False)


@program
def generate_by_sampling() -> None:
    _generate(do_sample=True, top_p=0.9, temperature=0.7)


@program
def generate_with_beams() -> None:
    _generate(num_beams=4, do_sample=False)


@program
def mixture_of_experts() -> None:
    from transformers import MixtralConfig, MixtralForCausalLM

    sizes = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = MixtralConfig(vocab_size=1000, num_key_value_heads=2, num_local_experts=8, **sizes)
    model = MixtralForCausalLM(config).to(CARD)
    ids = torch.randint(0, 1000, (4, 128)).to(CARD)
    train(model.parameters(), lambda: model(ids, labels=ids, attention_mask=torch.ones_like(ids)).loss)


@program
def graph_pooling() -> None:
    from torch_geometric.data import Batch, Data
    from torch_geometric.nn import GCNConv, TopKPooling, global_mean_pool

    sizes = torch.randint(10, 40, (32,)).tolist()
    graphs = [Data(x=torch.randn(n, 16), edge_index=torch.randint(0, n, (2, 4 * n))) for n in sizes]
    batch = Batch.from_data_list(graphs).to(CARD)
    first, pool, last = GCNConv(16, 64).to(CARD), TopKPooling(64, 0.5).to(CARD), nn.Linear(64, 3).to(CARD)

    def loss() -> torch.Tensor:
        x, _, _, of_graph, _, _ = pool(first(batch.x, batch.edge_index).relu(), batch.edge_index, None, batch.batch)
        found = last(global_mean_pool(x, of_graph))
        assert found.shape == (32, 3), found.shape
        return found.square().mean()

    train([*first.parameters(), *pool.parameters(), *last.parameters()], loss)


@program
def ragged_speech() -> None:
    lstm, head = nn.LSTM(40, 256, bidirectional=True, batch_first=True).to(CARD), nn.Linear(512, 30).to(CARD)
    x, frames = torch.randn(8, 200, 40).to(CARD), torch.tensor([200, 190, 180, 160, 150, 140, 130, 120])
    text, letters = torch.randint(1, 30, (8, 20)).to(CARD), torch.full((8,), 20)

    def loss() -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, frames, batch_first=True)
        found = head(nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True)[0])
        lengths = [len(torch.unique_consecutive(row[row != 0])) for row in found.argmax(-1)]
        assert max(lengths) <= 200
        return F.ctc_loss(found.log_softmax(-1).transpose(0, 1), text, frames, letters, zero_infinity=True)

    train([*lstm.parameters(), *head.parameters()], loss)


@program
def variational() -> None:
    from torch.distributions import Categorical, Normal, kl_divergence

    encode, decode = nn.Linear(2048, 256).to(CARD), nn.Linear(128, 2048).to(CARD)
    x = torch.rand(64, 2048).to(CARD)

    def loss() -> torch.Tensor:
        mean, width = encode(x).chunk(2, -1)
        latent = Normal(mean, width.exp())
        found = decode(latent.rsample())
        chosen = Categorical(logits=found).sample()
        assert int(chosen.min()) >= 0 and int(chosen.max()) < 2048
        return kl_divergence(latent, Normal(0.0, 1.0)).mean() + F.mse_loss(found, x)

    train([*encode.parameters(), *decode.parameters()], loss)


@program
def hardest_pixels() -> None:
    model = nn.Conv2d(3, 19, 3, padding=1).to(CARD)
    x, y = torch.rand(8, 3, 128, 128).to(CARD), torch.randint(0, 19, (8, 128, 128)).to(CARD)
    y[:, :16] = 255

    def loss() -> torch.Tensor:
        losses = F.cross_entropy(model(x), y, ignore_index=255, reduction="none").flatten()
        found = losses[y.flatten() != 255].sort(descending=True).values
        return found[: len(found) // 4].mean()

    train(model.parameters(), loss)


if __name__ == "__main__":
    torch.manual_seed(0)
    PROGRAMS[sys.argv[1]]()
