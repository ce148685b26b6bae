"""Private names of libraries that a release has no more: they are told, and the job goes on."""

from __future__ import annotations

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

TRAINS = """
import torch
from torch import nn
from torch.utils.data import DataLoader
model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
optimizer = torch.optim.AdamW(model.parameters())
for x in DataLoader(torch.ones(64, 4), batch_size=4, num_workers=1):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
with torch.no_grad():
    model.eval()(torch.rand(4, 4))
torch.save(model.state_dict(), "model.pt")
print("done")
"""


def test_names_of_this_release_are_all_there(job: Job) -> None:
    finished = job.run(TRAINS, cold=True)
    assert finished.stdout == "done\n", finished.stderr
    assert finished.of_kind("name_gone") == []
    assert finished.of_kind("hook_failed") == []


@pytest.mark.parametrize(
    ("taken", "name", "lost"),
    [
        (
            "del torch.nn.parallel.DistributedDataParallel._ddp_init_helper",
            "_ddp_init_helper",
            "buckets of gradients have no owner",
        ),
        ("del torch._unique2", "_unique2", "reads of values by unique() are not noticed"),
        (
            "del torch._ops.OpOverload.decompose",
            "decompose",
            "operators made of others are not computed in inference mode",
        ),
        (
            "of_torch.HOST_FILLS['fill_']._symbols = ('_ZN2at4_ops3no_4callEv',)",
            "fill_",
            "large random fills on the host are made at once, which takes time",
        ),
    ],
)
def test_a_name_that_is_gone_is_told_and_the_job_goes_on(job: Job, taken: str, name: str, lost: str) -> None:
    taking = f"""
from vramfit.base import importing
from vramfit.private import torch as of_torch
def take_away(torch):
    {taken}
importing._state.watched["torch"].insert(0, take_away)
"""
    finished = job.run(taking + TRAINS, cold=True)
    assert finished.stdout == "done\n", finished.stderr
    gone = finished.only("name_gone")
    assert (gone["library"], gone["name"]) == ("torch", name)
    assert gone["version"].startswith("2.")
    assert gone["lost"] == lost
    assert finished.of_kind("hook_failed") == []


def test_a_module_that_its_library_has_no_more_is_told_though_nobody_imports_it(job: Job) -> None:
    moving = """
from vramfit.base import importing
from vramfit.private import torchvision as of_torchvision
def move(torch):
    of_torchvision.keeps_class.paths = ("torchvision.tv_tensors._moved:_FORCE_TORCHFUNCTION_SUBCLASS",)
importing._state.watched["torch"].insert(0, move)
import torchvision
"""
    finished = job.run(moving + TRAINS, cold=True)
    assert finished.stdout == "done\n", finished.stderr
    gone = finished.only("name_gone")
    assert (gone["library"], gone["name"]) == ("torchvision", "_FORCE_TORCHFUNCTION_SUBCLASS")


def test_packages_that_are_only_imported_miss_nothing(job: Job) -> None:
    packages = ("torchvision", "transformers", "accelerate", "bitsandbytes", "lightning", "pytorch_lightning")
    imports = "".join(f"try: import {name}\nexcept ImportError: pass\n" for name in packages)
    finished = job.run(imports + TRAINS, cold=True)
    assert finished.stdout == "done\n", finished.stderr
    assert finished.of_kind("name_gone") == []


def test_even_without_any_of_them_a_job_comes_to_its_end(job: Job) -> None:
    taken = """
from vramfit.private import loaders, names, operators, python, torch
for each in [each for file in (torch, loaders, python, operators) for each in vars(file).values()]:
    if isinstance(each, names.Name):
        each.paths = ("torch:_gone",)
    elif isinstance(each, names.Attribute):
        each.name, each.paths = "_gone", ("torch:Tensor._gone",)
"""
    for variables in ({}, {"VRAMFIT_DIAGNOSE": "1", "VRAMFIT_MODULES": "1"}, {"VRAMFIT_VALUES": "tracked"}):
        finished = job.run(taken + TRAINS, cold=True, **variables)
        assert finished.stdout == "done\n", finished.stderr
        gone = finished.of_kind("name_gone")
        assert len(gone) > 60
        assert all(each["lost"] for each in gone)


@pytest.mark.parametrize(
    ("taken", "name", "lost"),
    [
        (
            "from vramfit.private import python_layout; python_layout._TP_AS_SEQUENCE += 8",
            "tp_as_sequence",
            "what x[mask] reads of values is not noticed",
        ),
        (
            "import sys; from vramfit.steer.counting_on import stack\n"
            "stack._places = lambda: None; assert stack.loops(sys._getframe()) == []",
            "the stack of a frame",
            "loops are not counted on, and rounds not numbered as their batch",
        ),
        (
            "from vramfit.private import python_layout; python_layout._NUMBER += 8",
            "the number of enumerate() and count()",
            "loops over them are not counted on, and rounds not numbered as their batch",
        ),
    ],
)
def test_an_interpreter_whose_objects_lie_otherwise_is_told(job: Job, taken: str, name: str, lost: str) -> None:
    finished = job.run(taken + TRAINS, cold=True)
    assert finished.stdout == "done\n", finished.stderr
    gone = finished.only("name_gone")
    assert (gone["library"], gone["name"], gone["lost"]) == ("Python", name, lost)


VIEWS = """
import torch
from vramfit.private import torch as of_torch
packets = [getattr(torch.ops.aten, name) for name in dir(torch.ops.aten) if not name.startswith("__")]
operators = [getattr(each, kind) for each in packets if hasattr(each, "overloads") for kind in each.overloads()]
told = [of_torch.is_view(each) for each in operators]
of_torch._is_view.name = "is_no_more"
print(len(operators) > 1000, told.count(True) > 50, told == [of_torch.is_view(each) for each in operators])
"""


def test_views_are_known_without_the_name_too(job: Job) -> None:
    assert job.run(VIEWS, cold=True).stdout == "True True True\n"


HIDDEN = """
import sys
def hide(owner, name):
    plain = owner.__getattribute__
    def look(self, asked):
        if asked == name and "python/vramfit/" in sys._getframe(1).f_code.co_filename:
            raise AttributeError(name)
        return plain(self, asked)
    owner.__getattribute__ = look
"""

WRAPS = """
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
{hiding}
model = DistributedDataParallel(torch.nn.Linear(4, 4))
for _ in range(3):
    model(torch.rand(2, 4)).sum().backward()
print("trained")
"""


def test_a_model_whose_reducer_is_elsewhere_is_wrapped_as_ever(job: Job) -> None:
    script = HIDDEN + WRAPS.format(hiding="hide(DistributedDataParallel, 'reducer')")
    finished = job.run(script, cold=True)
    assert finished.stdout == "trained\n", finished.stderr
    assert finished.of_kind("hook_failed") == []


def test_a_reducer_that_is_gone_is_told(job: Job) -> None:
    taking = """
from vramfit.base import importing
from vramfit.private import torch as of_torch
def take_away(torch):
    of_torch.reducer.name, of_torch.reducer.paths = "gone", ("torch.nn.parallel:DistributedDataParallel.gone",)
importing._state.watched["torch"].insert(0, take_away)
"""
    finished = job.run(taking + WRAPS.format(hiding=""), cold=True)
    assert finished.stdout == "trained\n", finished.stderr
    gone = finished.only("name_gone")
    assert (gone["name"], gone["lost"]) == ("gone", "buckets of gradients have no owner until they are made anew")
    assert finished.of_kind("hook_failed") == []


def test_a_hook_that_fails_leaves_a_model_wrapped_and_is_told(job: Job) -> None:
    hiding = "torch.cuda.is_initialized = lambda: 1 / 0"
    finished = job.run(WRAPS.format(hiding=hiding), cold=True)
    assert finished.stdout == "trained\n", finished.stderr
    assert {note["where"] for note in finished.of_kind("hook_failed")} >= {"buckets"}
