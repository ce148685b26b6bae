"""What the hooks remember is owned by the process (base/process.py): seen in a process that has them all."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import module_state
import pytest
from hooked_job import Job

ALL_MODULES = f"""
    import importlib, pkgutil, sys
    import torch, vramfit
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    import module_state
    from vramfit.base import process
    from vramfit.private import names
    from vramfit.contract import plans
    constants = tuple(k for k in vars(names).values() if isinstance(k, type) and k.__module__ == names.__name__)
    constants += (plans.Setting,)  # named once, as the class that it is of is made
    for found in pkgutil.walk_packages(vramfit.__path__, "vramfit."):
        try:
            module = importlib.import_module(found.name)
        except ImportError as error:
            print("not there:", found.name, error.name)
            continue
        for place in module_state.find_memory(module, process.owned(), constants):
            print(f"{{found.name}}: {{place}}")
    print("looked at", len([name for name in sys.modules if name.startswith("vramfit.")]))
"""


def test_no_module_remembers_what_the_process_does_not_own(job: Job) -> None:
    finished = job.run(ALL_MODULES, steps="all")
    assert finished.exit_code == 0, finished.stderr
    *found, last = finished.stdout.splitlines()
    assert int(last.split()[-1]) > 200
    assert set(found) - {"vramfit.base.process: _process can change", "not there: vramfit.jupyter IPython"} == set()


def made_of(text: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("vramfit.observe.made_up")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(text, vars(module))
    return module


@pytest.mark.parametrize(
    "text",
    [
        "seen, n = set(), 0",
        "try:\n    import nobody_has_this\nexcept ImportError:\n    seen = []",
        "class Kept:\n    items = []",
        "def f(x, seen=dict()):\n    seen[x] = 1",
        "def f(x, *, seen={}):\n    seen[x] = 1",
        "last = [0] * 4",
        "both = [1] + [2]",
        "either = None or []",
        "(walrus := [])",
        "import functools\n@functools.cache\ndef seen():\n    return []\nseen()",
        "import functools\n@functools.cache\ndef once():\n    pass\nonce()",
        "import functools\n@functools.cache\ndef twice(x):\n    return 2 * x",
        "globals()['sneaked'] = {}",
        "class Box: pass\nbox = Box()",
        "def f(): pass\nf.calls = 0",
        "pair = ([], 1)",
    ],
)
def test_however_it_is_spelled_it_is_found(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(module_state.find_memory(made_of(text, monkeypatch), [], ())) != []


@pytest.mark.parametrize(
    "text",
    [
        "KNOWN = {'a': 1}",
        "import re\nword = re.compile('x')",
        "import dataclasses as d\n@d.dataclass\nclass Row:\n    names: list = d.field(default_factory=list)",
        "from typing import NamedTuple\nclass Place(NamedTuple):\n    line: int\nhere = Place(3)",
    ],
)
def test_what_never_changes_is_left_alone(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(module_state.find_memory(made_of(text, monkeypatch), [], ())) == []
