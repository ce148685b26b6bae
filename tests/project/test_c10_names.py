"""PyTorch's functions that the preloaded libraries stand before: the hooks, which say what is lost without them, the
libraries and their lists of exports name the same."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = re.compile(r"_ZNK?3c10\w+")
PRELOADED = ("recorder", "virtual_gpu/preload")


def names_in(*paths: Path) -> set[str]:
    return {name for path in paths for name in NAME.findall(path.read_text())}


def test_the_hooks_know_the_names_that_the_libraries_use() -> None:
    used = names_in(ROOT / "include/vramfit/c10_names.h")
    assert used
    assert used == names_in(ROOT / "python/vramfit/private/torch.py")


def test_sources_have_them_from_the_header_and_exports_are_among_them() -> None:
    sources = [path for folder in PRELOADED for path in (ROOT / folder).rglob("*") if path.suffix in (".cc", ".h")]
    assert names_in(*sources) == set()
    exported = names_in(*(ROOT / folder / "exports.map" for folder in PRELOADED))
    assert exported
    assert exported <= names_in(ROOT / "include/vramfit/c10_names.h")
