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
