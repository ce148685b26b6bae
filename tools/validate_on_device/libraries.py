"""What each library adds to a process on the card when it is used for the first time, one after the other."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from registry import part, workload


def _attention(backend: SDPBackend, dtype: torch.dtype) -> None:
    q = torch.ones(2, 4, 128, 64, device="cuda", dtype=dtype, requires_grad=True)
    with sdpa_kernel(backend):
        F.scaled_dot_product_attention(q, q, q).sum().backward()


@workload("libraries_one_by_one", suite="libraries")
def libraries_one_by_one() -> None:
    x = torch.empty(1024, 1024, device="cuda")
    part("empty")
    x.fill_(1)
    part("fill")
    y = x + x
    part("add")
    y.sum()
    part("sum")
    torch.randn(16, 16, device="cuda")
    part("randn")
    x @ x
    part("matmul_fp32")
    b = x.bfloat16()
    part("cast")
    b @ b
    part("matmul_bf16")
    nn.Linear(1024, 1024).cuda()(x)
    part("linear_fp32")
    F.gelu(nn.Linear(1024, 1024).cuda().bfloat16()(b))
    part("linear_bf16")
    x.softmax(-1)
    part("softmax")
    F.layer_norm(x, (1024,))
    part("layer_norm")
    x.sort()
    part("sort")
    x.cumsum(0)
    part("cumsum")
    x[torch.zeros(4, dtype=torch.long, device="cuda")]
    part("index")
    image = torch.ones(2, 64, 32, 32, device="cuda", requires_grad=True)
    conv = nn.Conv2d(64, 64, 3, padding=1).cuda()
    out = conv(image)
    part("conv_fp32_forward")
    out.sum().backward()
    part("conv_fp32_backward")
    with torch.autocast("cuda", torch.bfloat16):
        out = conv(image)
    part("conv_bf16_forward")
    out.float().sum().backward()
    part("conv_bf16_backward")
    nn.BatchNorm2d(64).cuda()(image).sum().backward()
    part("batch_norm")
    nn.LSTM(64, 64).cuda()(torch.ones(8, 4, 64, device="cuda"))
    part("lstm")
    _attention(SDPBackend.MATH, torch.float32)
    part("sdpa_math")
    _attention(SDPBackend.EFFICIENT_ATTENTION, torch.float32)
    part("sdpa_efficient")
    _attention(SDPBackend.FLASH_ATTENTION, torch.bfloat16)
    part("sdpa_flash")
    torch.fft.rfft2(x)
    part("fft")
    torch.linalg.qr(x[:64, :64])
    part("qr")
    torch.linalg.eigh(torch.eye(64, device="cuda"))
    part("eigh")
    torch.eye(64, device="cuda").to_sparse_csr() @ x[:64, :64]
    part("sparse")
    parameter = nn.Parameter(torch.ones(1024, 1024, device="cuda"))
    parameter.grad = torch.ones_like(parameter)
    torch.optim.AdamW([parameter]).step()
    part("adamw_foreach")
    torch.optim.AdamW([parameter], fused=True).step()
    part("adamw_fused")


@workload("library_nccl", suite="libraries")
def library_nccl() -> None:
    import os

    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517", RANK="0", WORLD_SIZE="1")
    x = torch.ones(1 << 20, device="cuda")
    part("before")
    dist.init_process_group("nccl")
    part("init")
    dist.all_reduce(x)
    torch.cuda.synchronize()
    part("all_reduce")
    dist.destroy_process_group()
    part("destroyed")


@workload("library_eager_loading", suite="libraries", settings={"CUDA_MODULE_LOADING": "EAGER"})
def library_eager_loading() -> None:
    torch.ones(1024, 1024, device="cuda").sum()
    part("sum")
