"""Single operators and small groups of them, forward and backward."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from registry import workload

TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16, "fp64": torch.float64}


def randn(*shape: int, dtype: torch.dtype = torch.float32, grad: bool = False) -> Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype).requires_grad_(grad)


def there_and_back(function: Callable[..., Tensor], *tensors: Tensor) -> None:
    """Forward, and backward from the sum."""
    out = function(*tensors)
    out = out[0] if isinstance(out, tuple) else out
    out.float().sum().backward()


def matmul(dtype: torch.dtype) -> None:
    there_and_back(torch.matmul, randn(1024, 2048, dtype=dtype, grad=True), randn(2048, 512, dtype=dtype, grad=True))


for type_name, type_ in TYPES.items():
    workload(f"matmul_{type_name}")(functools.partial(matmul, type_))


@workload("bmm_fp16")
def bmm() -> None:
    there_and_back(
        torch.bmm, randn(64, 256, 128, dtype=torch.float16, grad=True), randn(64, 128, 256, dtype=torch.float16)
    )


@workload("linear_bias_gelu_bf16")
def linear_gelu() -> None:
    layer = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda().bfloat16()
    there_and_back(layer, randn(512, 1024, dtype=torch.bfloat16, grad=True))


@workload("addmm_activation_fp16")
def addmm_activation() -> None:
    with torch.no_grad():
        half = functools.partial(randn, dtype=torch.float16)
        torch._addmm_activation(half(512), half(256, 1024), half(1024, 512), use_gelu=True)


@workload("int8_matmul")
def int8_matmul() -> None:
    a = torch.ones(256, 512, device="cuda", dtype=torch.int8)
    torch._int_mm(a, torch.ones(512, 256, device="cuda", dtype=torch.int8))


@workload("einsum_fp32")
def einsum() -> None:
    there_and_back(
        lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b), randn(8, 12, 256, 64, grad=True), randn(8, 12, 256, 64)
    )


def convolution(layer: nn.Module, *shape: int, dtype: torch.dtype = torch.float32, last: bool = False) -> None:
    layer, x = layer.cuda().to(dtype), randn(*shape, dtype=dtype, grad=True)
    if last:
        layer, x = layer.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    there_and_back(layer, x)


CONVOLUTIONS: dict[str, Callable[[], None]] = {
    "conv1d": lambda: convolution(nn.Conv1d(64, 128, 5, padding=2), 16, 64, 2048),
    "conv2d_3x3": lambda: convolution(nn.Conv2d(64, 128, 3, padding=1), 16, 64, 56, 56),
    "conv2d_1x1": lambda: convolution(nn.Conv2d(256, 512, 1), 16, 256, 28, 28),
    "conv2d_7x7_stride2": lambda: convolution(nn.Conv2d(3, 64, 7, 2, 3), 16, 3, 224, 224),
    "conv2d_depthwise": lambda: convolution(nn.Conv2d(128, 128, 3, padding=1, groups=128), 16, 128, 56, 56),
    "conv2d_grouped": lambda: convolution(nn.Conv2d(128, 128, 3, padding=1, groups=8), 16, 128, 56, 56),
    "conv2d_dilated": lambda: convolution(nn.Conv2d(64, 64, 3, padding=2, dilation=2), 8, 64, 64, 64),
    "conv2d_transposed": lambda: convolution(nn.ConvTranspose2d(128, 64, 2, 2), 8, 128, 32, 32),
    "conv2d_fp16": lambda: convolution(nn.Conv2d(64, 128, 3, padding=1), 16, 64, 56, 56, dtype=torch.float16),
    "conv2d_bf16_channels_last": lambda: convolution(
        nn.Conv2d(64, 128, 3, padding=1), 16, 64, 56, 56, dtype=torch.bfloat16, last=True
    ),
    "conv3d": lambda: convolution(nn.Conv3d(16, 32, 3, padding=1), 2, 16, 16, 56, 56),
}
for conv_name, conv_run in CONVOLUTIONS.items():
    workload(conv_name)(conv_run)


@workload("conv2d_without_cudnn")
def conv_without_cudnn() -> None:
    with torch.backends.cudnn.flags(enabled=False):
        CONVOLUTIONS["conv2d_3x3"]()


@workload("conv2d_benchmark", benchmark=True)
def conv_benchmark() -> None:
    with torch.backends.cudnn.flags(enabled=True, benchmark=True):
        CONVOLUTIONS["conv2d_3x3"]()


def layer(module: nn.Module, *shape: int) -> None:
    there_and_back(module.cuda(), randn(*shape, grad=True))


for name, run in {
    "batch_norm": lambda: layer(nn.BatchNorm2d(128), 32, 128, 56, 56),
    "layer_norm": lambda: layer(nn.LayerNorm(1024), 32, 512, 1024),
    "group_norm": lambda: layer(nn.GroupNorm(8, 128), 16, 128, 56, 56),
    "rms_norm": lambda: layer(nn.RMSNorm(1024), 32, 512, 1024),
    "instance_norm": lambda: layer(nn.InstanceNorm2d(64), 16, 64, 56, 56),
    "lstm": lambda: layer(nn.LSTM(256, 512, 2, batch_first=True), 32, 100, 256),
    "gru_bidirectional": lambda: layer(nn.GRU(256, 256, 1, batch_first=True, bidirectional=True), 32, 100, 256),
    "rnn_tanh": lambda: layer(nn.RNN(128, 256, 1), 50, 16, 128),
    "max_pool": lambda: layer(nn.MaxPool2d(3, 2, 1), 16, 64, 112, 112),
    "adaptive_pool": lambda: layer(nn.AdaptiveAvgPool2d(7), 16, 256, 32, 32),
    "bilinear_upsample": lambda: layer(nn.Upsample(scale_factor=2, mode="bilinear"), 8, 64, 64, 64),
    "dropout": lambda: layer(nn.Dropout(0.1), 64, 512, 1024),
    "silu_inplace": lambda: layer(nn.Sequential(nn.Linear(512, 512), nn.SiLU(inplace=True)), 1024, 512),
}.items():
    workload(name)(run)


def attention(backend: str, dtype: torch.dtype, causal: bool = False) -> None:
    q, k, v = (randn(4, 8, 512, 64, dtype=dtype, grad=True) for _ in range(3))
    with sdpa_kernel(getattr(SDPBackend, backend)):
        there_and_back(functools.partial(F.scaled_dot_product_attention, is_causal=causal), q, k, v)


workload("sdpa_math_fp32")(functools.partial(attention, "MATH", torch.float32))
workload("sdpa_efficient_fp32")(functools.partial(attention, "EFFICIENT_ATTENTION", torch.float32))
workload("sdpa_efficient_fp16_causal")(functools.partial(attention, "EFFICIENT_ATTENTION", torch.float16, True))
workload("sdpa_flash_fp16_causal")(functools.partial(attention, "FLASH_ATTENTION", torch.float16, True))


@workload("cross_entropy_large_vocabulary")
def cross_entropy() -> None:
    labels = torch.zeros(4096, dtype=torch.long, device="cuda")
    there_and_back(lambda x: F.cross_entropy(x, labels), randn(4096, 32000, grad=True))


@workload("embedding_and_tied_head")
def embedding() -> None:
    table = nn.Embedding(32000, 512).cuda()
    tokens = torch.zeros(8, 256, dtype=torch.long, device="cuda")
    there_and_back(lambda: table(tokens) @ table.weight.T)


@workload("sort_topk_cumsum")
def sort() -> None:
    x = randn(256, 32768)
    x.sort(dim=1)
    x.topk(50, dim=1)
    x.cumsum(1)
    torch.multinomial(x.abs() + 1, 4)


@workload("gather_scatter")
def gather_scatter() -> None:
    x, index = randn(4096, 1024, grad=True), torch.zeros(4096, 64, dtype=torch.long, device="cuda")
    there_and_back(lambda t: torch.zeros(4096, 1024, device="cuda").scatter_add(1, index, t.gather(1, index)), x)


@workload("fft_2d")
def fft() -> None:
    there_and_back(lambda x: torch.fft.irfft2(torch.fft.rfft2(x)), randn(16, 8, 128, 128, grad=True))


@workload("cholesky_solve")
def cholesky() -> None:
    with torch.no_grad():
        a = torch.eye(512, device="cuda").expand(8, -1, -1) * 4
        torch.cholesky_solve(randn(8, 512, 16), torch.linalg.cholesky(a))


@workload("qr_fp32")
def qr() -> None:
    with torch.no_grad():
        torch.linalg.qr(randn(4, 512, 256))
