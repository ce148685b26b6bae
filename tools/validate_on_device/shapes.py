"""What libraries ask for at many sizes: linear algebra, transforms, recurrent layers, attention, products."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import part, workload

SIZES = (
    1,
    2,
    5,
    8,
    16,
    24,
    31,
    32,
    33,
    48,
    64,
    65,
    96,
    100,
    128,
    160,
    200,
    256,
    300,
    384,
    500,
    512,
    513,
    768,
    1024,
    1500,
    2048,
)
RECTANGLES = ((64, 16), (16, 64), (512, 64), (64, 512), (1000, 300), (300, 1000), (2048, 128))


def _definite(n: int, batch: int | None, dtype: torch.dtype) -> Tensor:
    """A symmetric positive definite matrix that is no diagonal."""
    a = torch.eye(n, device="cuda", dtype=dtype) * n + torch.ones(n, n, device="cuda", dtype=dtype)
    return a if batch is None else a.expand(batch, n, n).contiguous()


LINEAR_ALGEBRA: dict[str, Callable[[Tensor], Any]] = {
    "qr": torch.linalg.qr,
    "qr_r": lambda a: torch.linalg.qr(a, mode="r"),
    "geqrf": torch.geqrf,
    "eigh": torch.linalg.eigh,
    "eigvalsh": torch.linalg.eigvalsh,
    "svd": lambda a: torch.linalg.svd(a, full_matrices=False),
    "svd_gesvd": lambda a: torch.linalg.svd(a, full_matrices=False, driver="gesvd"),
    "svdvals": torch.linalg.svdvals,
    "cholesky": torch.linalg.cholesky,
    "cholesky_inverse": torch.cholesky_inverse,
    "inv": torch.linalg.inv,
    "solve": lambda a: torch.linalg.solve(a, a[..., :4] if a.shape[-1] >= 4 else a),
    "lu_factor": torch.linalg.lu_factor,
    "lu_solve": lambda a: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), a),
    "ldl_factor": torch.linalg.ldl_factor,
    "lstsq": lambda a: torch.linalg.lstsq(a, a),
    "eig": torch.linalg.eig,
    "det": torch.linalg.det,
    "householder": lambda a: torch.linalg.householder_product(a, torch.ones_like(a[..., 0, :])),
}
RECTANGULAR = ("qr", "qr_r", "geqrf", "svd", "svd_gesvd", "svdvals", "lu_factor")


def linear_algebra(name: str, dtype: torch.dtype) -> None:
    function = LINEAR_ALGEBRA[name]
    with torch.no_grad():
        for n in SIZES:
            for batch in (None, 4, 40):
                if n > 512 and (batch or 1) > 4 or n > 1024 and (batch or name in ("eig", "svd", "svd_gesvd")):
                    continue
                a = _definite(n, batch, dtype)
                part(f"{n} {batch} input")
                function(a)
                part(f"{n} {batch}")
        for rows, columns in RECTANGLES if name in RECTANGULAR else ():
            a = torch.ones(rows, columns, device="cuda", dtype=dtype) + torch.eye(
                rows, columns, device="cuda", dtype=dtype
            )
            part(f"{rows}x{columns} input")
            function(a)
            part(f"{rows}x{columns}")


for _name, _type in itertools.product(LINEAR_ALGEBRA, (torch.float32, torch.float64)):
    workload(f"linalg_{_name}_{str(_type)[6:]}", suite="shapes")(functools.partial(linear_algebra, _name, _type))

LENGTHS = (
    *(2, 7, 16, 60, 64, 100, 127, 128, 210, 256, 500, 512, 1000, 1009, 1024, 1536, 2000, 2048, 4096, 4099, 8192),
    16384,
    65536,
    100003,
    1 << 20,
)


def transforms(kind: str) -> None:
    function = getattr(torch.fft, kind)
    for n in LENGTHS:
        for batch in (1, 3, 64):
            if n * batch <= 1 << 22:
                x = torch.ones(batch, n, device="cuda")
                x = x.to(torch.complex64) if kind in ("fft", "irfft") else x
                part(f"{n} {batch} input")
                function(x)
                part(f"{n} {batch}")
    for shape in (
        (8, 8),
        (16, 30),
        (60, 60),
        (64, 64),
        (100, 128),
        (127, 64),
        (256, 256),
        (512, 512),
        (1000, 1000),
        (32, 32, 32),
        (17, 64, 128),
    ):
        for batch in (1, 8):
            x = torch.ones(batch, *shape, device="cuda")
            x = x.to(torch.complex64) if kind in ("fft", "irfft") else x
            part(f"{shape} {batch} input")
            getattr(torch.fft, kind + "n")(x, dim=tuple(range(1, 1 + len(shape))))
            part(f"{shape} {batch}")


for _kind in ("fft", "rfft", "irfft"):
    workload(f"transform_{_kind}", suite="shapes")(functools.partial(transforms, _kind))


def recurrent(kind: str, dtype: torch.dtype) -> None:
    """Forward in training and evaluation, and backward: workspaces and the reserve."""
    for size, hidden, layers, both, batch, length in (
        *((64, 64, 1, False, 4, 8), (64, 64, 1, False, 8, 8), (64, 64, 1, False, 4, 16), (128, 64, 1, False, 4, 8)),
        *((64, 128, 1, False, 4, 8), (64, 64, 2, False, 4, 8), (64, 64, 1, True, 4, 8), (64, 64, 2, True, 4, 8)),
        *((256, 512, 2, False, 32, 100), (256, 512, 1, False, 32, 100), (256, 512, 3, False, 32, 100)),
        *((256, 256, 1, True, 32, 100), (128, 256, 1, False, 16, 50), (128, 256, 2, True, 16, 50)),
        *((512, 1024, 2, False, 64, 35), (650, 650, 2, False, 20, 35), (200, 200, 2, False, 20, 35)),
        *(
            (300, 1000, 1, False, 64, 20),
            (40, 96, 4, True, 7, 333),
            (1, 32, 1, False, 128, 1),
            (1024, 1024, 4, False, 64, 30),
        ),
    ):
        layer = getattr(nn, kind)(size, hidden, layers, bidirectional=both).cuda().to(dtype)
        x = torch.ones(length, batch, size, device="cuda", dtype=dtype, requires_grad=True)
        name = f"{size} {hidden} {layers} {int(both)} {batch} {length}"
        part(f"{name} input")
        out = layer(x)[0]
        part(f"{name} forward")
        out.sum().backward()
        part(f"{name} backward")
        with torch.no_grad():
            layer.eval()(x)
        part(f"{name} evaluation")
        del out, layer, x


for _kind, _type in itertools.product(("LSTM", "GRU", "RNN"), (torch.float32, torch.float16, torch.bfloat16)):
    workload(f"{_kind.lower()}_{str(_type)[6:]}", suite="shapes")(functools.partial(recurrent, _kind, _type))


def attention(dtype: torch.dtype) -> None:
    for batch, heads, length, width in (
        *((2, 4, 128, 64), (2, 4, 100, 64), (4, 8, 512, 64), (1, 16, 1024, 128), (2, 12, 384, 64), (2, 8, 77, 40)),
        *((1, 8, 4096, 64), (8, 12, 197, 64), (2, 16, 2048, 96), (1, 32, 333, 80), (16, 8, 64, 32)),
    ):
        for causal, masked, dropout in (
            (False, False, 0.0),
            (True, False, 0.0),
            (False, True, 0.0),
            (False, False, 0.1),
            (True, False, 0.1),
        ):
            q, k, v = (
                torch.ones(batch, heads, length, width, device="cuda", dtype=dtype, requires_grad=True)
                for _ in range(3)
            )
            mask = torch.ones(batch, 1, length, length, device="cuda", dtype=torch.bool) if masked else None
            name = f"{batch} {heads} {length} {width} {int(causal)}{int(masked)} {dropout}"
            part(f"{name} input")
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal, dropout_p=dropout)
            part(f"{name} forward")
            out.sum().backward()
            part(f"{name} backward")
            del out, q, k, v, mask
            part(f"{name} freed")


for _type in (torch.float32, torch.float16, torch.bfloat16):
    workload(f"attention_{str(_type)[6:]}", suite="shapes")(functools.partial(attention, _type))


@workload("sparse_products", suite="shapes")
def sparse_products() -> None:
    for rows, columns, width, every in (
        (64, 64, 8, 1),
        (1000, 500, 64, 7),
        (4096, 4096, 128, 31),
        (20000, 100, 16, 13),
    ):
        dense = torch.zeros(rows, columns, device="cuda")
        dense.view(-1)[::every] = 1
        for layout in ("coo", "csr"):
            matrix = dense.to_sparse() if layout == "coo" else dense.to_sparse_csr()
            part(f"{layout} {rows} {columns} {width} made")
            torch.sparse.mm(matrix, torch.ones(columns, width, device="cuda"))
            part(f"{layout} {rows} {columns} {width} product")


@workload("sorts_and_sums", suite="shapes")
def sorts_and_sums() -> None:
    """Temporary storage of CUB: sorting, scans, unique, selection, at many lengths."""
    for n in (10, 100, 1000, 2000, 4096, 5000, 10_000, 65_536, 100_000, 1 << 20, 3_000_000, 1 << 24):
        x = torch.arange(n, device="cuda", dtype=torch.float32)
        part(f"{n} input")
        for name, function in {
            "sort": torch.sort,
            "stable": lambda t: torch.sort(t, stable=True),
            "argsort_int": lambda t: torch.argsort(t.long()),
            "unique": torch.unique,
            "nonzero": torch.nonzero,
            "select": lambda t: t[t > -1],
            "cumsum": lambda t: t.cumsum(0),
            "cumprod": lambda t: t.cumprod(0),
            "topk": lambda t: t.topk(min(10, t.numel())),
            "median": torch.median,
            "sum": torch.sum,
            "max": torch.max,
            "bincount": lambda t: torch.bincount(t.long() % 10),
            "histc": lambda t: torch.histc(t, 10),
            "multinomial": lambda t: torch.multinomial(t[: 1 << 20] + 1, 1),
            "randperm": lambda t: torch.randperm(t.numel(), device="cuda"),
        }.items():
            function(x)
            part(f"{n} {name}")
        weight = torch.ones(1000, 16, device="cuda", requires_grad=True)
        if n <= 1 << 20:
            F.embedding(x.long() % 1000, weight).sum().backward()
            part(f"{n} embedding")
            out = torch.zeros(1000, device="cuda").index_put((x.long() % 1000,), x, accumulate=True)
            part(f"{n} index_put")
            del out
