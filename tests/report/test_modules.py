"""The modules on a page, in a real Chromium: drawn, folded, sorted by keyboard."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from chromium import SIZES, ask
from product import ROOT, Product
from stored_runs import HOSTILE, MIB, result, stored

sys.path.insert(0, str(ROOT))
from tools.suite import node_packages

DRIVER = Path(__file__).with_name("drive_modules.mjs")


@pytest.fixture(scope="session")
def packages() -> Path:
    return node_packages.folder()


def row(name: str, class_name: str, size: int) -> dict[str, Any]:
    use = {
        "phase": "train",
        "calls": 1,
        "inputs": ["8x3x32x32 float32"],
        "outputs": ["8x64x32x32 float32"],
        "forward_flops": size * 1e9,
        "backward_flops": 2e9 * size,
        "activation_bytes": size * MIB,
        "output_bytes": MIB,
        "peak_rise_bytes": size * MIB,
        "workspace_bytes": 0,
        "estimated_forward_seconds": None,
    }
    sizes = {f"{kind}_bytes": MIB for kind in ("parameter", "buffer", "gradient", "optimizer")}
    return {"name": name, "class": class_name, "parameters": 1000, **sizes, "uses": [use]}


def modules(blocks: int, word: str) -> dict[str, Any]:
    """A chain of blocks of two layers with a way past each."""
    rows = [row("", "Net", 900), row("stem", word, 5), row("blocks", "Sequential", 700)]
    nodes = [("input", "", "input"), ("stem", "stem", None)]
    edges = [(0, 1)]
    last = 1
    for i in range(blocks):
        name = f"blocks.{i}"
        rows += [row(name, "Block", 10 + i), row(f"{name}.a", "Linear", 3), row(f"{name}.b", "Linear", 4)]
        first = len(nodes)
        nodes += [(f"{name}.a", f"{name}.a", None), (f"{name}.b", f"{name}.b", None), (f"{name}:add", name, "add")]
        edges += [(last, first), (first, first + 1), (first + 1, first + 2), (last, first + 2)]
        last = first + 2
    nodes.append(("output", "", "output"))
    edges.append((last, len(nodes) - 1))
    branch = {
        "name": "blocks.0: a, b",
        "modules": ["blocks.0.a", "blocks.0.b"],
        "kind": "added",
        "joins": "blocks.0:add",
        "training_only": False,
        "parameters": 2000,
        **{f"{kind}_bytes": MIB for kind in ("weight", "gradient", "optimizer", "activation")},
        "freed_bytes": 4 * MIB,
        "alike": blocks,
    }
    return {
        "modules": rows,
        "module_nodes": [
            {"id": i, "module": m, "operation": o, "activation_bytes": MIB, "held_bytes": MIB} for i, m, o in nodes
        ],
        "module_edges": [{"from": a, "to": b, "bytes": MIB, "via": []} for a, b in edges],
        "module_branches": [branch],
        "module_remarks": [word],
    }


def drive(product: Product, packages: Path, word: str = "Conv2d", **asked: Any) -> dict[str, Any]:
    outcome = {**result("train.py:1 in main", "fits"), **modules(14, word)}
    history = product.folder / "history.json"
    history.write_text(json.dumps({"vramfit": "0.1.0", "runs": [stored(1, "run", outcome, "train.py")]}))
    assert product.call("runs", "--import", str(history)).exit_code == 0
    page = product.folder / "report.html"
    written = product.call("report", "1", "-o", str(page))
    assert written.exit_code == 0, written
    question = {
        "page": str(page),
        "width": 1280,
        "scheme": "light",
        "chromium": shutil.which("chromium") or shutil.which("google-chrome"),
        **asked,
    }
    done = subprocess.run(
        ["node", str(DRIVER), str(packages)], input=json.dumps(question), capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize(("scheme", "width"), SIZES)
def test_the_network_and_the_table_are_whole_and_accessible(
    product: Product, packages: Path, scheme: str, width: int
) -> None:
    seen = drive(product, packages, scheme=scheme, width=width)
    assert seen["said"] == []
    assert seen["violations"] == []
    assert seen["sideways"] <= 0
    assert "Block ×14" in seen["drawn"][0]
    assert len(seen["drawn"]) == 2, "the whole, and the inside of a block"
    assert seen["overlaps"] == []
    assert seen["clipped"] == [], "no text leaves its box"


def test_every_column_of_the_modules_is_in_sight(product: Product, packages: Path) -> None:
    drive(product, packages)
    steps = [["boxes_that_scroll"]]
    seen = ask(
        packages, "drive_charts.mjs", {"page": str(product.folder / "report.html"), "width": 1280, "steps": steps}
    )
    assert [box for box in seen["answers"][0] if box[0].startswith("Modules")] == []


def test_rows_fold_and_sort_by_keyboard(product: Product, packages: Path) -> None:
    seen = drive(product, packages)
    assert seen["rows_at_first"] == ["", "stem", "blocks"]
    assert "blocks.13" in seen["rows_opened"]
    assert "blocks.13.a" not in seen["rows_opened"]
    assert seen["rows_closed"] == seen["rows_at_first"]
    opened = [name for name in seen["rows_sorted"] if name.startswith("blocks.")]
    assert opened == [f"blocks.{i}" for i in range(13, -1, -1)], "most activations first"
    assert seen["sorted_by"] == "descending"


def test_names_of_a_script_stay_text(product: Product, packages: Path) -> None:
    seen = drive(product, packages, HOSTILE)
    assert seen["dialogs"] == []
    assert seen["said"] == []
    assert "<script>alert('x')</script>" in seen["text"]
