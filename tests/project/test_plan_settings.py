"""Settings of plans: hooks read each, and what one is where it is left out is what the planner takes for granted."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from product import ROOT

sys.path.insert(0, str(ROOT / "python"))
from vramfit.contract import plans

MIB = 1 << 20
APPLY, TECHNIQUES = "python/vramfit/apply", "src/plan/techniques"


def evaluate(node: ast.expr, constants: dict[str, ast.expr]) -> Any:
    """A literal, a constant of the module, or numbers that are shifted."""
    if isinstance(node, ast.Name):
        return evaluate(constants[node.id], constants)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift):
        return evaluate(node.left, constants) << evaluate(node.right, constants)
    return ast.literal_eval(node)


def read_constants(tree: ast.Module) -> dict[str, ast.expr]:
    assigned = [node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)]
    return {node.targets[0].id: node.value for node in assigned}


@pytest.mark.parametrize("technique", plans.TECHNIQUES)
def test_each_technique_has_hooks_that_read_all_of_its_settings(root: Path, technique: str) -> None:
    """What they read goes by attributes of the technique's class, so that a misspelt one is mypy's to find."""
    kind = plans.TECHNIQUES[technique]
    hooks = ast.parse((root / APPLY / f"{technique}.py").read_text())
    (install,) = [one for one in hooks.body if isinstance(one, ast.FunctionDef) and one.name == "install"]
    assert ast.unparse(install.args.args[1].annotation or ast.Constant(None)) == f"plans.{kind.__name__}"
    read = {node.attr for node in ast.walk(hooks) if isinstance(node, ast.Attribute)}
    # In one go, or by a word that the class makes of it.
    read |= {"pin_memory", "num_workers"} if "given" in read else set()
    read |= {"scaler"} if "is_scaled" in read else set()
    assert set(kind.settings) <= read


@pytest.mark.parametrize("technique", plans.TECHNIQUES)
def test_each_technique_is_written_into_the_source_or_says_why_not(root: Path, technique: str) -> None:
    text = (root / "python" / "vramfit" / "patch" / "changes.py").read_text()
    assert f'    "{technique}": {technique},\n' in text or re.search(
        rf'^        "{technique}": "\w', text, re.MULTILINE
    )


def test_an_entry_of_a_plan_is_what_its_class_says() -> None:
    read = plans.read({"id": "smaller_model", "from": "resnet50", "to": "resnet18"})
    assert isinstance(read, plans.SmallerModel) and (read.from_, read.to) == ("resnet50", "resnet18")
    left_out = plans.read({"id": "micro_batch", "micro_batch": 4})
    assert isinstance(left_out, plans.MicroBatch) and (left_out.accumulate, tuple(left_out.loaders)) == (1, (0,))
    assert not left_out.is_given("loaders") and left_out.is_given("micro_batch")


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "micro_batch"},
        {"id": "micro_batch", "micro_batch": "four"},
        {"id": "micro_batch", "micro_batch": 4, "acumulate": 2},
        {"id": "smaller_model", "from_": "resnet50", "to": "resnet18"},
    ],
)
def test_an_entry_that_is_not_is_refused(entry: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        plans.read(entry)


def constant_of(root: Path, file: str, name: str) -> Any:
    path = root / file
    if path.suffix == ".py":
        constants = read_constants(ast.parse(path.read_text()))
        return evaluate(constants[name], constants)
    found = re.search(rf"\b{name} = (?:Bytes::mib\((\d+)\)|(\d+) << (\d+)|(\d+))", path.read_text())
    assert found, f"{file}: {name}"
    mib, shifted, by, plain = found.groups()
    return int(mib) * MIB if mib else int(shifted) << int(by) if by else int(plain)


@pytest.mark.parametrize(
    ("places", "value"),
    [
        ({f"{TECHNIQUES}/offload_optimizer.cc": "kAtOnce"}, plans.OffloadOptimizer.at_once),
        ({"src/plan/stream/returns.h": "kLeastOffloaded"}, plans.OffloadActivations.at_least),
        ({f"{APPLY}/chunked_loss.py": "_CHUNK_BYTES", f"{TECHNIQUES}/chunked_loss.cc": "kChunk"}, 32 * MIB),
        (
            {f"{APPLY}/chunked_loss.py": "_LINEAR_CHUNK_BYTES", f"{TECHNIQUES}/chunked_loss.cc": "kChunkWithLayer"},
            128 * MIB,
        ),
        (
            {f"{TECHNIQUES}/lora.cc": "kRank", "src/estimate/estimate.h": "rank"},
            plans.Lora.rank,
        ),
    ],
)
def test_the_planner_foretells_what_the_hooks_do(root: Path, places: dict[str, str], value: int) -> None:
    assert {place: constant_of(root, place, name) for place, name in places.items()} == dict.fromkeys(places, value)


def test_what_is_said_of_chunks_is_what_is_done(root: Path) -> None:
    schema = (root / "docs" / "plan.schema.json").read_text()
    assert "left out: 32 MiB, with `linear` 128 MiB" in schema


def test_optimizers_that_treat_parameters_one_by_one_are_the_same(root: Path) -> None:
    hooks = read_constants(ast.parse((root / APPLY / "one_by_one.py").read_text()))["_ONE_BY_ONE"]
    planner = re.search(r"kOneByOne = \{(.*?)\}", (root / TECHNIQUES / "one_by_one.h").read_text(), re.DOTALL)
    assert planner
    names = [word.value for word in ast.walk(hooks) if isinstance(word, ast.Constant)]
    assert sorted(names) == sorted(re.findall(r'"(\w+)"', planner[1]))
