"""Whole training and inference steps, and patterns that exercise the allocator itself."""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from registry import workload

MIB = 1 << 20


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.norm1(self.conv1(x)), inplace=True)
        return F.relu(self.norm2(self.conv2(out)) + x, inplace=True)


def small_resnet() -> nn.Sequential:
    stem = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    body = [Residual(64), Residual(64), nn.Conv2d(64, 128, 1, 2), Residual(128), Residual(128)]
    return nn.Sequential(*stem, *body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 100))


class Language(nn.Module):
    def __init__(self, layers: int = 4, width: int = 512, recompute: bool = False) -> None:
        super().__init__()
        self.embed = nn.Embedding(16000, width)
        self.blocks = nn.ModuleList(
            [nn.TransformerEncoderLayer(width, width // 64, 4 * width, batch_first=True) for _ in range(layers)]
        )
        self.head = nn.Linear(width, 16000)
        self.recompute = recompute

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)
        return self.head(x).flatten(0, 1)


def train(
    model: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    optimizer: type[torch.optim.Optimizer] = torch.optim.AdamW,
    steps: int = 3,
    autocast: torch.dtype | None = None,
    **options: object,
) -> None:
    model.cuda().train()
    update = optimizer(model.parameters(), lr=1e-3, **options)
    scaler = torch.amp.GradScaler("cuda", enabled=autocast is torch.float16)
    for _ in range(steps):
        x, y = inputs.cuda(), targets.cuda()
        with torch.autocast("cuda", autocast or torch.float16, enabled=autocast is not None):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(update)
        scaler.update()
        update.zero_grad()


def images(batch: int = 16) -> tuple[Tensor, Tensor]:
    return torch.zeros(batch, 3, 224, 224), torch.zeros(batch, dtype=torch.long)


def tokens(batch: int = 4, length: int = 256) -> tuple[Tensor, Tensor]:
    return torch.zeros(batch, length, dtype=torch.long), torch.zeros(batch * length, dtype=torch.long)


def mlp() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 100))


def mlp_batch() -> tuple[Tensor, Tensor]:
    return torch.zeros(256, 2048), torch.zeros(256, dtype=torch.long)


for name, optimizer, options in (
    ("sgd_momentum", torch.optim.SGD, {"momentum": 0.9}),
    ("adam_loop", torch.optim.Adam, {"foreach": False}),
    ("adam_foreach", torch.optim.Adam, {"foreach": True}),
    ("adamw_fused", torch.optim.AdamW, {"fused": True}),
    ("adagrad", torch.optim.Adagrad, {}),
    ("rmsprop", torch.optim.RMSprop, {}),
):
    workload(f"mlp_{name}")(
        functools.partial(lambda o, k: train(mlp(), *mlp_batch(), optimizer=o, **k), optimizer, options)
    )

SGD = {"optimizer": torch.optim.SGD, "momentum": 0.9}
workload("resnet_fp32")(lambda: train(small_resnet(), *images(), **SGD))
workload("resnet_fp16_scaler")(lambda: train(small_resnet(), *images(), autocast=torch.float16, **SGD))
workload("resnet_bf16")(lambda: train(small_resnet(), *images(), autocast=torch.bfloat16, **SGD))
workload("resnet_batch_64")(lambda: train(small_resnet(), *images(64), **SGD))


@workload("resnet_fp16_channels_last")
def resnet_channels_last() -> None:
    pictures, labels = images()
    pictures = pictures.contiguous(memory_format=torch.channels_last)
    train(small_resnet().to(memory_format=torch.channels_last), pictures, labels, autocast=torch.float16, **SGD)


@workload("resnet_benchmark", benchmark=True)
def resnet_benchmark() -> None:
    with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        train(small_resnet(), *images(), **SGD)


@workload("resnet_evaluation")
def resnet_evaluation() -> None:
    model = small_resnet().cuda().eval()
    with torch.inference_mode():
        for _ in range(3):
            model(images(64)[0].cuda())


workload("language_fp32")(lambda: train(Language(), *tokens()))
workload("language_bf16")(lambda: train(Language(), *tokens(), autocast=torch.bfloat16))
workload("language_fp16_scaler")(lambda: train(Language(), *tokens(), autocast=torch.float16))
workload("language_checkpointed")(lambda: train(Language(recompute=True), *tokens()))
workload("language_long_batch")(lambda: train(Language(), *tokens(8, 512), autocast=torch.bfloat16))


@workload("accumulated_gradients")
def accumulation() -> None:
    model, (x, y) = small_resnet().cuda(), images(4)
    update = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(8):
        (F.cross_entropy(model(x.cuda()), y.cuda()) / 4).backward()
        if step % 4 == 3:
            update.step()
            update.zero_grad()


@workload("allocator_shrinking_batches")
def shrinking() -> None:
    model = mlp().cuda()
    for rows in (4096, 3000, 2000, 5000, 1000):
        model(torch.zeros(rows, 2048, device="cuda")).sum().backward()


def holes() -> None:
    """Every second of 32 blocks is freed; larger ones can't use the holes."""
    blocks = [torch.empty((3 + i % 5) * MIB, dtype=torch.uint8, device="cuda") for i in range(32)]
    del blocks[::2]
    blocks += [torch.empty(9 * MIB, dtype=torch.uint8, device="cuda") for _ in range(4)]


workload("allocator_holes")(holes)
workload("allocator_holes_expandable", settings={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})(holes)
workload("allocator_holes_max_split", settings={"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:20"})(holes)
workload("allocator_rounded", settings={"PYTORCH_CUDA_ALLOC_CONF": "roundup_power2_divisions:4"})(holes)


@workload("allocator_small_blocks")
def small_blocks() -> None:
    kept = [torch.empty(size, dtype=torch.uint8, device="cuda") for size in range(1, 200_000, 777)]
    del kept[::3]
    kept += [torch.empty(512, dtype=torch.uint8, device="cuda") for _ in range(64)]


@workload("two_streams")
def two_streams() -> None:
    side = torch.cuda.Stream()
    x = torch.empty(16 * MIB, dtype=torch.uint8, device="cuda")
    with torch.cuda.stream(side):
        side.wait_stream(torch.cuda.current_stream())
        y = x + 1
        y = y + 1
    torch.cuda.current_stream().wait_stream(side)
    y.add_(1)


@workload("cuda_graph")
def cuda_graph() -> None:
    model, x = mlp().cuda(), torch.zeros(256, 2048, device="cuda")
    with torch.no_grad():
        warm = torch.cuda.Stream()
        with torch.cuda.stream(warm):
            model(x)
        torch.cuda.current_stream().wait_stream(warm)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(x)
        graph.replay()


@workload("empty_cache_between_phases")
def empty_cache() -> None:
    train(small_resnet(), *images(32), **SGD)
    torch.cuda.empty_cache()
    resnet_evaluation()
