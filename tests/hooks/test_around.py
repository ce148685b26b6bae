"""A hook around a library's function: whatever it does, the script gets what the function gives."""

from __future__ import annotations

import pytest
from hooked_job import Job

SCRIPT = """
from vramfit.base.around import INSTEAD, around
calls = []
def add(a, b=0):
    "Adds."
    calls.append((a, b))
    return a // b
def hook(a, b=0):
    {before}
    given = yield {word}
    {after}
add = around("adding", add, hook)
try:
    print(add(6, b=2), calls, add.__doc__)
except Exception as error:
    print(type(error).__name__, calls)
"""


@pytest.mark.parametrize(
    ("before", "word", "after", "printed", "failed"),
    [
        ("pass", "", "print(given)", "3\n3 [(6, 2)] Adds.\n", []),
        ("1 / 0", "", "print(given)", "3 [(6, 2)] Adds.\n", ["ZeroDivisionError"]),
        ("pass", "", "given.shape", "3 [(6, 2)] Adds.\n", ["AttributeError"]),
        ("return", "", "print(given)", "3 [(6, 2)] Adds.\n", []),
        ("pass", "INSTEAD", "print(given)", "None\nNone [] Adds.\n", []),
    ],
    ids=["as it should be", "before", "after", "nothing to do", "instead"],
)
def test_a_hook_never_fails_in_place_of_the_function(
    job: Job, before: str, word: str, after: str, printed: str, failed: list[str]
) -> None:
    finished = job.run(SCRIPT.format(before=before, word=word, after=after))
    assert finished.stdout == printed, finished.stderr
    assert [(note["where"], note["type"]) for note in finished.of_kind("hook_failed")] == [
        ("adding", kind) for kind in failed
    ]


def test_what_the_function_raises_is_the_scripts(job: Job) -> None:
    script = SCRIPT.format(before="pass", word="", after="print(given)").replace("add(6, b=2)", "add(6)")
    finished = job.run(script)
    assert finished.stdout == "ZeroDivisionError [(6, 0)]\n", finished.stderr
    assert finished.of_kind("hook_failed") == []


LAYER = "torch.nn.Linear(2, 2)"
WRAPPED = [
    ("observe.linear_layers", "_has_loaded", f"{LAYER}.load_state_dict({LAYER}.state_dict())", "linear layers"),
    ("observe.owners", "tag_root", f"{LAYER}.to(torch.float64)", "owners.move"),
    ("observe.thread_lines", "recorder", "import threading; threading.Thread(target=int).start()", "thread_lines"),
    (
        "observe.ineffective_savings",
        "_look_at_dynamic",
        f"torch.ao.quantization.quantize_dynamic(torch.nn.Sequential({LAYER}))",
        "ineffective_savings.dynamic",
    ),
    ("diagnose.checkpoints", "_loaded", "torch.save(1, 'x.pt'); torch.load(f='x.pt')", "checkpoints.load"),
]


@pytest.mark.parametrize(("module", "name", "line", "where"), WRAPPED, ids=[each[3] for each in WRAPPED])
def test_a_hook_around_a_library_that_fails_does_not_end_the_job(
    job: Job, module: str, name: str, line: str, where: str
) -> None:
    script = f"""
import torch.ao.quantization, torch.utils.data
from vramfit.{module.rpartition(".")[0]} import {module.rpartition(".")[2]} as hooks
class Fails:
    def __getattr__(self, name): raise KeyError(name)
    def __call__(self, *_): raise KeyError("ours")
hooks.{name} = Fails()
{line}
print("trained")
"""
    finished = job.run(script, VRAMFIT_DIAGNOSE="1")
    assert finished.stdout.endswith("trained\n"), finished.stderr
    assert (where, "KeyError") in [(note["where"], note["type"]) for note in finished.of_kind("hook_failed")]
