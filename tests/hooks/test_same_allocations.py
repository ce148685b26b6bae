"""A job under the hooks asks PyTorch's allocator for what it asks for without them, in the same order."""

from __future__ import annotations

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

GIB = 1 << 30

# PyTorch's own, each forward and backward, where a mode of the dispatcher or one more owner of a gradient would be
# seen: derivatives that are worked out in place, gradients that are added up in place, and those that become `.grad`.
OPERATORS = """
    import json, sys, torch
    from torch.nn import functional as F

    def number(*shape):
        return torch.rand(*shape, device="cuda", requires_grad=True)

    def places(*shape):
        return torch.zeros(*shape, dtype=torch.int64, device="cuda")

    square, row, index = number(40, 40), number(40), places(40)
    mask = torch.ones(40, 40, dtype=torch.bool, device="cuda")
    images = number(2, 4, 12, 12)
    leaves = [square, row, images]
    OPERATORS = {
        "take": lambda: square.take(index),
        "index_select": lambda: square.index_select(0, index),
        "gather": lambda: square.gather(0, places(4, 40)),
        "take_along_dim": lambda: square.take_along_dim(places(4, 40), 0),
        "getitem": lambda: square[index, index] + square[3:, 1:].sum(),
        "topk": lambda: square.topk(3)[0],
        "sort": lambda: square.sort()[0],
        "msort": lambda: square.msort(),
        "max": lambda: square.max(1)[0],
        "max of all": lambda: square.max(),
        "median": lambda: square.median(0)[0],
        "kthvalue": lambda: square.kthvalue(3)[0],
        "cummax": lambda: square.cummax(0)[0],
        "cumprod": lambda: square.cumprod(0),
        "prod": lambda: square.prod(0),
        "trace": lambda: square.trace(),
        "atan2": lambda: torch.atan2(square, square + 1),
        "clamp": lambda: square.clamp(row - 1, row + 1),
        "masked_fill": lambda: square.masked_fill(mask, 0.5),
        "where": lambda: torch.where(mask, square, row),
        "matmul": lambda: square @ square @ row,
        "diff": lambda: square.diff(2),
        "trapezoid": lambda: torch.trapezoid(square),
        "cumulative_trapezoid": lambda: torch.cumulative_trapezoid(square, square + 1),
        "gradient": lambda: sum(torch.gradient(square, dim=(0, 1))),
        "tensor_split": lambda: square.tensor_split(3, 1),
        "hsplit": lambda: square.hsplit(4),
        "var": lambda: square.var(0) + square.std(),
        "corrcoef": lambda: square.corrcoef(),
        "matrix_power": lambda: torch.linalg.matrix_power(square, 3),
        "sgn": lambda: torch.complex(square, square).sgn().real,
        "softsign": lambda: F.softsign(square),
        "normalize": lambda: F.normalize(square),
        "cosine_similarity": lambda: F.cosine_similarity(square, square + 1),
        "local_response_norm": lambda: F.local_response_norm(images, 3),
        "pad": lambda: F.pad(images, (2, 2, 2, 2), "circular"),
        "attention": lambda: F.scaled_dot_product_attention(images, images, images, mask[:12, :12]),
        "max_pool2d": lambda: F.max_pool2d(images, 2),
        "conv2d": lambda: F.conv2d(images, images[:, :, :3, :3]),
        "poisson_nll_loss": lambda: F.poisson_nll_loss(square, square, full=False),
        "gaussian_nll_loss": lambda: F.gaussian_nll_loss(square, square, square + 1),
        "cross_entropy": lambda: F.cross_entropy(square, index),
        "binary": lambda: F.binary_cross_entropy_with_logits(square, square, row.detach(), pos_weight=row.detach()),
        "kl_div": lambda: F.kl_div(square, square),
        "hinge": lambda: F.hinge_embedding_loss(square, square),
        "triplet": lambda: F.triplet_margin_loss(square, square + 1, square + 2),
        "multilabel": lambda: F.multilabel_soft_margin_loss(square, square),
    }
    memory = torch.cuda.memory
    memory._record_memory_history(context=None)
    asked = {}
    for name, run in OPERATORS.items():
        before = len(memory._snapshot()["device_traces"][0])
        for _ in range(2):
            outputs = run()
            outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
            torch.autograd.backward(outputs, [torch.ones_like(output) for output in outputs])
            del outputs
            for leaf in leaves:
                leaf.grad = None
        entries = memory._snapshot()["device_traces"][0][before:]
        asked[name] = [entry["size"] for entry in entries if entry["action"] == "alloc"]
    print(json.dumps({"hooked": "vramfit" in sys.modules, "asked": asked}))
"""


@pytest.fixture(scope="module")
def without_hooks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """What is asked for on the virtual card where no Python of ours runs."""
    alone = Job(tmp_path_factory.mktemp("alone")).run(OPERATORS, card=4 * GIB, PYTHONPATH="").output()
    assert not alone["hooked"]
    return alone["asked"]  # type: ignore[no-any-return]


@pytest.mark.parametrize("values", ["zeros", "tracked", "cpu"])
def test_operators_ask_for_the_same_blocks(job: Job, values: str, without_hooks: dict[str, list[int]]) -> None:
    finished = job.run(OPERATORS, card=4 * GIB, VRAMFIT_VALUES=values)
    hooked, asked = finished.output()["hooked"], finished.output()["asked"]
    assert hooked and not finished.of_kind("name_gone")
    differ = {name: (sizes, asked[name]) for name, sizes in without_hooks.items() if asked[name] != sizes}
    assert not differ
