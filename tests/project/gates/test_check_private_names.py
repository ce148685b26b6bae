"""Private names of libraries fail wherever they stand but in python/vramfit/private."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken_trees import run_gate, write

PRIVATE = {
    "python/vramfit/private/torch.py": "import torch\nlazy_call = torch.cuda._lazy_call\n",
    "python/vramfit/steer/cut.py": "import sys\nfrom vramfit.base import process\n"
    "from vramfit.private import torch as of_torch\n"
    "class _State:\n    def __init__(self):\n        self._told = 1\n_state = process.own(_State)\n"
    "class _Base:\n    def _know(self):\n        return self._own\n"
    "class Own(_Base, list):\n    def __getattr__(self, name):\n        return self._know if name == '_own' else 0\n"
    "class Mode(of_torch.dispatch_mode.get()):\n    def __see(self):\n        'Of _version.'\n        self.__see()\n"
    "WORDS = '_'.join(name.split('_')), {'_', 'PWD'}, name in ('_', '__')\n"
    "def f(pair, loader):\n    of_torch.lazy_call(f)\n    loader._vramfit_pass = _state._told\n"
    "    return sys._getframe(1), pair._fields, getattr(pair, '__dict__', None)\n",
}


def test_private_names_in_their_place_pass(root: Path, tmp_path: Path) -> None:
    done = run_gate(root, "check_private_names", write(tmp_path, PRIVATE))
    assert (done.returncode, done.stdout) == (0, "private names of libraries stand in python/vramfit/private\n")


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ("import torch\ntorch.cuda._lazy_call(f)\n", 2, "torch.cuda._lazy_call"),
        ("def f(loader):\n    loader._index_sampler = 1\n", 2, "loader._index_sampler"),
        ("def f():\n    from torch.utils._pytree import tree_map\n", 2, "_pytree"),
        ("from torch.overrides import _push_mode\n", 1, "_push_mode"),
        ("import jax._src.xla_bridge\n", 1, "_src"),
        ("def f(t):\n    return getattr(t, '_local_tensor', None)\n", 2, '"_local_tensor"'),
        ("def f(t):\n    return vars(t)['_version']\n", 2, '"_version"'),
        ("def f(t):\n    return t.__dict__['_version']\n", 2, '"_version"'),
        ("def f(t):\n    del t.__dict__['_version']\n", 2, '"_version"'),
        ("import operator\nget = operator.attrgetter('grad_fn._saved_self')\n", 2, '"_saved_self"'),
        ("import operator\ncall = operator.methodcaller('_apply')\n", 2, '"_apply"'),
        ("import sys\ndynamo = sys.modules.get('torch._dynamo')\n", 2, '"_dynamo"'),
        ("import importlib\nname = 'x'\nof = importlib.import_module(f'torch._{name}')\n", 3, '"_x"'),
        ("def f(t, name):\n    return getattr(t, '_' + name)\n", 2, '"_x"'),
        ("def f(node):\n    return [name for name in dir(node) if name.startswith('_saved_')]\n", 2, '"_saved_"'),
        ("def f(log_softmax, x):\n    return log_softmax(x, _stacklevel=5)\n", 2, "_stacklevel="),
        ("import torch\nclass M(torch.nn.Module):\n    def f(self):\n        self._buffers\n", 4, "self._buffers"),
        ("import torch\nclass M(torch.nn.Module):\n    def _apply(self, f):\n        pass\n", 3, "M._apply"),
        ("import torch\nclass M(torch.nn.Module):\n    pass\nclass N(M):\n    _version = 2\n", 5, "N._version"),
        (
            "from vramfit.steer.known import M\nclass N(M):\n    def f(self):\n        self._buffers\n",
            4,
            "self._buffers",
        ),
        ("class A:\n    def f(self, module):\n        def g(self):\n            self._buffers\n", 4, "self._buffers"),
        ("def wrapped(self):\n    return self._buffers\n", 2, "self._buffers"),
        ("import ctypes\ndef f(x):\n    return ctypes.c_long.from_address(id(x) + 16).value\n", 3, "id(x) + 16"),
        ("import torch as aten\naten._C\n", 2, "aten._C"),
        ("import torch\nheld = (process.own, torch)[1]\nheld._C\n", 3, "held._C"),
        ("import torch\nheld = process.own(torch)\nheld._C\n", 3, "held._C"),
        ("getattr(torch, ''.join(('_', 'C')))\n", 1, '"_"'),
        ("getattr(torch, '%sC' % '_')\n", 1, '"_"'),
        ("getattr(torch, '{}C'.format('_'))\n", 1, '"_"'),
        ("getattr(torch, '_%s' % 'C')\n", 1, '"_x"'),
        ("getattr(torch, '_{}'.format('C'))\n", 1, '"_x"'),
        ("def f(t):\n    match t:\n        case object(_version=1):\n            pass\n", 3, "_version="),
    ],
)
def test_a_private_name_elsewhere_fails(root: Path, tmp_path: Path, text: str, line: int, name: str) -> None:
    known = "import torch\nclass M(torch.nn.Module):\n    pass\n"
    others = {"python/vramfit/steer/known.py": known, "python/vramfit/steer/bad.py": text}
    done = run_gate(root, "check_private_names", write(tmp_path, PRIVATE | others))
    assert done.returncode == 1
    assert f"python/vramfit/steer/bad.py:{line}: {name} is private" in done.stdout


TABLES = {
    "python/vramfit/private/lightning.py": "from vramfit.private.names import Attribute\n"
    "def _of_both(path: str) -> Attribute:\n    return Attribute(f'lightning.{path}')\n"
    "batches = _of_both('loops:_FitLoop.max_batches')\n"
    "LIMITS = {part: _of_both(f'trainer:Trainer.limit_{part}_batches') for part in ('train', 'val')}\n"
    "COUNTS = {name: _of_both(f'loops:_Progress.{name}') for name in ('ready', 'done')}\n"
    "settings = Attribute('lightning.trainer:Trainer.args')\n",
    "python/vramfit/steer/own.py": "class Call:\n    def __init__(self):\n        self.args = 1\n",
}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("def f(loop):\n    return loop.max_batches\n", "loop.max_batches"),
        ("def f(trainer):\n    trainer.limit_val_batches = 3\n", "trainer.limit_val_batches"),
        ("def f(loop):\n    return getattr(loop, 'max_batches', None)\n", '"max_batches"'),
        ("import operator\nf = operator.attrgetter('loop.max_batches')\n", '"max_batches"'),
    ],
)
def test_an_attribute_of_the_tables_fails_elsewhere(root: Path, tmp_path: Path, text: str, name: str) -> None:
    tree = write(tmp_path, PRIVATE | TABLES | {"python/vramfit/steer/bad.py": text})
    done = run_gate(root, "check_private_names", tree)
    assert done.returncode == 1
    assert f"python/vramfit/steer/bad.py:2: {name} is private" in done.stdout


@pytest.mark.parametrize(
    "text",
    [
        "def f(trainer):\n    return trainer.args\n",  # calls of ours have some too
        "def f(x):\n    return x.ready, x.any\n",  # a pattern that is nothing but a placeholder names nothing
        "WORDS = ('max_batches',)\n",
        "class Own:\n    def __init__(self):\n        self.max_batches = 1\ndef f(own):\n    return own.max_batches\n",
        "from vramfit.private import lightning as of_lightning\nof_lightning.max_batches\n",
    ],
)
def test_what_only_looks_like_an_attribute_of_the_tables_passes(root: Path, tmp_path: Path, text: str) -> None:
    done = run_gate(
        root, "check_private_names", write(tmp_path, PRIVATE | TABLES | {"python/vramfit/steer/own2.py": text})
    )
    assert done.returncode == 0, done.stdout


LED_TO = PRIVATE | {
    "python/vramfit/private/torch.py": "schema = Attribute('torch._ops:OpOverload._schema', 'x')\n"
    "reference = Name('torch.multiprocessing.reductions:StorageWeakRef', 'x')\n"
    "def arguments_of(operator):\n    return [1]\n",
}


@pytest.mark.parametrize(
    "line",
    [
        "of_torch.schema.of(x).overload_title",
        "of_torch.reference(x).pointed_to",
        "of_torch.reference.get().pointed_to",
        "held = of_torch.schema.of(x); y = held.overload_title",
        "[each.label for each in of_torch.schema.of(x)]",
        "if held := of_torch.schema.of(x): y = held.overload_title",
        "held = of_torch.schema.of(x); y = lambda: held.overload_title",
    ],
)
def test_what_a_private_name_leads_to_is_private_too(root: Path, tmp_path: Path, line: str) -> None:
    text = f"from vramfit.private import torch as of_torch\ndef f(x):\n    {line}\n"
    done = run_gate(root, "check_private_names", write(tmp_path, LED_TO | {"python/vramfit/steer/x.py": text}))
    assert (done.returncode, "python/vramfit/steer/x.py:3: " in done.stdout) == (1, True), done.stdout


@pytest.mark.parametrize(
    "line",
    [
        "of_torch.schema.of(x, {}).items()",
        "held = of_torch.schema.of(x); y = held.numel()",
        "held = of_torch.arguments_of(x); y = held.label",
        "held = of_torch.schema.of(x); held = g(held); y = held.label",
    ],
)
def test_containers_and_what_is_documented_pass(root: Path, tmp_path: Path, line: str) -> None:
    text = f"from vramfit.private import torch as of_torch\ndef f(x):\n    {line}\n"
    done = run_gate(root, "check_private_names", write(tmp_path, LED_TO | {"python/vramfit/steer/x.py": text}))
    assert done.returncode == 0, done.stdout
