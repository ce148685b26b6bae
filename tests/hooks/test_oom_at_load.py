"""A model that is too large for the card is told with the module at which loading it ended."""

from __future__ import annotations

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

MIB = 1 << 20

BLOCKS = """
import torch

class Block(torch.nn.Module):
    def __init__(self, **where):
        super().__init__()
        self.up = torch.nn.Linear(1024, 16384, bias=False, **where)  # 64 MiB
        self.down = torch.nn.Linear(16384, 1024, bias=False, **where)

class Net(torch.nn.Module):
    def __init__(self, **where):
        super().__init__()
        self.blocks = torch.nn.ModuleList([Block(**where) for _ in range(16)])
"""
LOADS = {
    "moved": ("net = Net(device='meta')\nnet.to_empty(device='cuda')", "Net", "blocks.7.down"),
    "built": ("Net(device='cuda')", "Net", "Net > Block > Linear"),
    "loaded": (
        "def fill(model):\n"
        "    for name, p in list(model.named_parameters()):\n"
        "        owner = model.get_submodule(name.rpartition('.')[0])\n"
        "        owner.weight = torch.nn.Parameter(torch.empty(p.shape, device='cuda'))\n"
        "fill(Net(device='meta'))",
        "Net",
        "blocks.7.down",
    ),
}


@pytest.mark.parametrize("how", LOADS)
def test_an_oom_at_load_is_told_by_module(job: Job, how: str) -> None:
    script, root, module = LOADS[how]
    run = job.run(BLOCKS + script, card=(15 * 64 + 260 + 60) * MIB)
    assert run.exit_code == 1 and "OutOfMemoryError" in run.stderr, run.stderr
    loading = run.only("oom")["loading"]
    assert (loading["how"], loading["root"], loading["module"]) == (how, root, module)
    assert loading["on_card_bytes"] == 15 * 64 * MIB
    assert loading["to_come_bytes"] == (None if how == "built" else 17 * 64 * MIB)


def test_an_oom_in_a_forward_is_none_at_load(job: Job) -> None:
    script = BLOCKS + "net = Block().cuda()\nnet.up(torch.empty(1 << 20, 1024, device='cuda'))"
    run = job.run(script, card=1 << 30)
    assert run.only("oom")["loading"] is None
