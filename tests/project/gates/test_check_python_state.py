"""What the hooks remember is owned by the process, or the gate fails."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken_trees import run_gate, write

STATES = {
    "python/vramfit/base/process.py": "import os\n_owned = []\nos.register_at_fork(after_in_child=_owned.clear)\n",
    "python/vramfit/observe/phases.py": "import re\nfrom vramfit.base import process\n_WORDS = frozenset({'test'})\n"
    "_KINDS = MappingProxyType({'a': ('b',), **{'c': int}})\n"
    "_WORD = re.compile('x')\nclass _State:\n    def __init__(self):\n        self.told = []\n"
    "_state = process.own(_State)\ndef tell():\n    _state.told.append(1)\n    words = []\n    words.append(2)\n",
}


def test_what_the_process_owns_may_change(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_python_state", write(tmp_path, STATES))
    assert (done.returncode, done.stdout) == (0, "what the hooks remember is owned by the process\n")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("_told: set[str] = set()\n", 1, "_told can change"),
        ("if True:\n    _told = []\n", 2, "_told can change"),
        ("class C: pass\nc = C()\n", 2, "c can change"),
        ("import threading\n_LOCK = threading.RLock()\n", 2, "_LOCK can change"),
        ("_WORDS = {}\ndef f():\n    _WORDS['a'] = 1\n", 1, "_WORDS can change"),
        ("import heapq\n_SEEN = [0]\ndef f(n):\n    heapq.heappush(_SEEN, n)\n", 2, "_SEEN can change"),
        ("import operator\n_COUNTS = {}\ndef f(n):\n    operator.setitem(_COUNTS, n, 1)\n", 2, "_COUNTS can change"),
        ("_SEEN = [0]\ndef f(n):\n    seen = _SEEN\n    seen.append(n)\n", 1, "_SEEN can change"),
        ("_PAIR = (1, [])\n", 1, "_PAIR can change"),
        ("_KINDS = MappingProxyType({'a': []})\n", 1, "_KINDS can change"),
        ("_KINDS = MappingProxyType({**{'a': {1}}})\n", 1, "_KINDS can change"),
        ("class C:\n    SEEN = []\n", 2, "C.SEEN can change"),
        ("from vramfit.steer import cut\ndef f():\n    cut.seen = 1\n", 3, "of the module cut is set from outside"),
        ("_known = find()\ndef f():\n    _known.append(1)\n", 3, "_known is changed"),
        ("class C:\n    count = 0\ndef f():\n    C.count += 1\n", 4, "the class C remembers something"),
        ("n = 0\ndef f():\n    global n\n    n = 1\n", 3, "`global`"),
        ("def f():\n    n = 0\n    def g():\n        nonlocal n\n        n = 1\n    return g\n", 4, "`nonlocal`"),
        (
            "def f():\n    seen = set()\n    def g(x):\n        seen.add(x)\n    return g\n",
            4,
            "seen is remembered by g",
        ),
        ("def f(seen=[]):\n    seen.append(1)\n", 1, "a default of f can change"),
        ("def f():\n    f.count = 1\n", 2, "the function f remembers something"),
        ("class C:\n    seen = []\n    def f(self):\n        self.seen.append(1)\n", 2, "C.seen can change"),
        ("class C:\n    @classmethod\n    def f(cls):\n        cls.total += 1\n", 4, "a class remembers"),
        ("class C:\n    def f(self):\n        type(self).total += 1\n", 3, "a class remembers"),
        ("class C:\n    def f(self):\n        self.__class__.total = 1\n", 3, "a class remembers"),
        ("numbers = iter([1, 2])\n", 1, "numbers can change"),
        ("import sys\ndef f():\n    setattr(sys.modules[__name__], 'x', 1)\n", 3, "a name of a module is set"),
        ("import sys\ndef f():\n    sys.modules[__name__].x = 1\n", 3, "a name of a module is set"),
        ("from vramfit.steer import cut\ndef f():\n    setattr(cut, 'x', 1)\n", 3, "a name of a module is set"),
        ("def f():\n    globals()['x'] = 1\n", 2, "a name of a module is set"),
        ("def f():\n    globals().update(x=1)\n", 2, "a name of a module is set"),
        ("held = find()\ndef f(y):\n    held.put(y)\n", 3, "held is changed"),
        ("import functools\n@functools.cache\ndef f(code): return code\n", 2, "a cache that a fork keeps"),
        ("import functools\n@functools.lru_cache(maxsize=9)\ndef f(x): return x\n", 2, "a cache that a fork keeps"),
        ("from functools import lru_cache as c\n@c\ndef f(x): return x\n", 1, "a cache that a fork keeps"),
        ("import os\nos.register_at_fork(after_in_child=print)\n", 2, "alone follows forks"),
    ],
)
def test_what_the_process_does_not_own_fails(root: Path, tmp_path: Path, text: str, line: int, said: str) -> None:
    others = {"python/vramfit/steer/cut.py": "LIMITS = (1,)\n", "python/vramfit/observe/bad.py": text}
    done = run_gate(root, "check_python_state", write(tmp_path, STATES | others))
    assert done.returncode == 1
    assert f"python/vramfit/observe/bad.py:{line}: " in done.stdout and said in done.stdout
