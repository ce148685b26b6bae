"""What platforms.json and abi/symbols say of each CUDA major: for the tools that build, record and check stand-ins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NOT_KNOWN = "?"  # the SONAME in a table that `record_abi --begin` made, until one of NVIDIA's wheels tells it


def read_platforms(root: Path) -> dict[str, Any]:
    known: dict[str, Any] = json.loads((root / "platforms.json").read_text(encoding="utf-8"))
    return known


def majors_of(root: Path) -> list[int]:
    return sorted(entry["major"] for entry in read_platforms(root)["cuda"])


def table_path(tables: Path, library: str, major: int) -> Path:
    return tables / f"{library}.cu{major}.txt"


def libraries_of(tables: Path) -> list[str]:
    """Those with a table, of whichever major."""
    return sorted({path.name.split(".")[0] for path in tables.glob("*.cu*.txt")})


def directives_of(table: Path) -> dict[str, str]:
    """`%soname libcublas.so.13` and what else stands at its head; empty where there is no table."""
    if not table.exists():
        return {}
    lines = [line[1:].split() for line in table.read_text(encoding="utf-8").splitlines() if line.startswith("%")]
    return {words[0]: words[1] for words in lines if len(words) > 1}
