"""The tables of docs/architecture.md: which room may include which, and which package of hooks may import which."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

DOCUMENT = Path("docs") / "architecture.md"
OURS = Path(__file__).resolve().parent.parent
# The packages of python/vramfit. The modules of no package start everything; each package above base may import what is
# below.
START = "start"
BELOW = frozenset({"contract", "private", "base"})


class Tables:
    """The two tables of docs/architecture.md: a room or package, and those that it may use, itself among them."""

    def __init__(self, root: Path) -> None:
        path = root / DOCUMENT
        text = (path if path.is_file() else OURS / DOCUMENT).read_text(encoding="utf-8")
        self.wrong: list[str] = []
        rows = {
            name.partition("/vramfit")[0]: told for name, told in read_table(text, "folder") if name[:6] != "python"
        }
        self.rooms = {
            name: self._read(name, told, {each.removeprefix("src/"): each for each in rows}, frozenset())
            for name, told in rows.items()
        }
        rows = {name.partition(":")[0]: told for name, told in read_table(text, "package")}
        names = {each: each for each in rows}
        above = [each for each in rows if each not in (*BELOW, "hook")]
        rows = {name: " ".join(above) if told == "all" else told for name, told in rows.items()}
        self.packages = {
            name: self._read(name, told, names, BELOW if name in above else frozenset()) for name, told in rows.items()
        }

    def _read(self, name: str, told: str, names: dict[str, str], besides: frozenset[str]) -> frozenset[str]:
        words = [] if told == "nothing" or (told == "nothing more" and besides) else told.split()
        self.wrong += [f"{DOCUMENT}: {name} may use {word}, which is in no row" for word in words if word not in names]
        return frozenset({name, *besides, *(names[word] for word in words if word in names)})


def read_table(text: str, head: str) -> Iterator[tuple[str, str]]:
    """First and last cells of the rows of the table with this head, without their marks: `src/base`, `include base`."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(f"| {head} |"):
            break
    for line in lines:
        if not line.startswith("|"):
            break
        cells = line.strip("| ").split(" | ")
        if not line.startswith("|--"):
            yield cells[0].replace("`", "").removesuffix("/"), cells[-1].strip().replace("`", "")
