"""One card of every compute capability runs what PyTorch's wheels have kernels for.

CUB chooses its tuning by architecture, and a wheel holds machine code for some only: an RTX 4090 runs an RTX 3090's.
"""

from __future__ import annotations

import functools
import json
import subprocess

import pytest
from product import VRAMFIT, Product

pytestmark = [pytest.mark.by_release, pytest.mark.warm]

OPERATORS = """
    import torch
    from torch import nn

    major, minor = torch.cuda.get_device_capability()
    built = [int(name[3:].rstrip("a")) for name in torch.cuda.get_arch_list() if name.startswith("sm_")]
    has_kernels = any(each // 10 == major and each <= 10 * major + minor for each in built)
    try:
        x = torch.zeros(1000, device="cuda")
    except RuntimeError as error:  # torch.AcceleratorError of later releases is one
        assert not has_kernels and "no kernel image" in str(error), (built, major, minor, error)
        print("refused")
        raise SystemExit(0)
    assert has_kernels, (built, major, minor)
    x.cumsum(0), x.cumprod(0), x.logcumsumexp(0), x.nonzero(), x.unique(), x[x > 3], x.sort(), x.topk(5), x.median()
    torch.randperm(1000, device="cuda"), x.histc(), x.mode(), x.kthvalue(3), torch.multinomial(x + 1, 5)
    index = torch.zeros(50, dtype=torch.long, device="cuda")
    torch.bincount(index), x.scatter_add(0, index, x), x.index_put((index,), x[:50], accumulate=True)
    weight = torch.zeros(100, 8, device="cuda", requires_grad=True)
    weight[index].sum().backward()
    bag = nn.EmbeddingBag(10, 3, mode="sum").cuda()
    bag(index[:10], torch.tensor([0, 4], device="cuda")).sum().backward()
    nn.Embedding(10, 3).cuda()(index).sum().backward()
    stem = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.MaxPool2d(2)
    network = nn.Sequential(*stem, nn.Flatten(), nn.LazyLinear(4)).cuda()
    network(torch.zeros(2, 3, 16, 16, device="cuda")).sum().backward()
    nn.GRU(4, 4).cuda()(torch.zeros(3, 2, 4, device="cuda"))[0].sum().backward()
    q = torch.zeros(1, 2, 64, 32, device="cuda", dtype=torch.float16, requires_grad=True)
    nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    torch.fft.rfft(x), torch.linalg.inv(torch.eye(4, device="cuda")), torch.cdist(weight, weight)
    torch.optim.AdamW(network.parameters(), fused=True).step()
    torch.sparse_coo_tensor(torch.stack([index, index]), x[:50], (9, 9)).coalesce()
    torch.cuda.synchronize()
    print("ran")
"""


@functools.cache
def cards() -> dict[str, str]:
    """One key for each compute capability of the catalogue."""
    listed = subprocess.run([VRAMFIT, "gpus", "--json", "-"], check=True, capture_output=True, text=True).stdout
    return {card["compute_capability"]: card["key"] for card in json.loads(listed)["cards"]}


CAPABILITIES = [
    "3.7",
    "5.2",
    "6.0",
    "6.1",
    "7.0",
    "7.2",
    "7.5",
    "8.0",
    "8.6",
    "8.7",
    "8.9",
    "9.0",
    "10.0",
    "10.3",
    "11.0",
    "12.0",
    "12.1",
]


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_a_card_of_this_capability_runs_what_the_wheel_has_for_it(product: Product, capability: str) -> None:
    done = product.run(OPERATORS, gpu=cards()[capability])
    assert done.exit_code == 0, done
    assert done.stdout.split()[-1:] in (["ran"], ["refused"]), done
    assert not done.result["not_modelled"], done.result["not_modelled"]


def test_every_capability_of_the_catalogue_is_tried() -> None:
    assert set(cards()) == set(CAPABILITIES)
