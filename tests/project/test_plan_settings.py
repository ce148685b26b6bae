"""What a setting of a plan is where it is left out: the same in the schema, in the hooks and in the planner."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MIB = 1 << 20


def settings_of(root: Path) -> dict[str, dict[str, Any]]:
    """By technique, those that the schema has a default for; src/model/plan_schema.cc writes it."""
    schema = json.loads((root / "docs" / "plan.schema.json").read_text())
    techniques = [each["properties"] for each in schema["properties"]["techniques"]["items"]["oneOf"]]
    return {
        each["id"]["const"]: {name: told["default"] for name, told in each.items() if "default" in told}
        for each in techniques
    }


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


def defaults_in(path: Path) -> Iterator[tuple[str, str, Any]]:
    """Technique, setting and default of each `options.get("at_least", _LEAST)`: in a file of apply/ the file's own
    technique, in patch/changes.py that of the function."""
    tree = ast.parse(path.read_text())
    constants = read_constants(tree)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    places = [(path.stem, tree)] if path.parent.name == "apply" else [(each.name, each) for each in functions]
    for technique, place in places:
        for node in ast.walk(place):
            is_get = isinstance(node, ast.Call) and ast.unparse(node.func) == "options.get" and len(node.args) == 2
            if is_get and isinstance(node.args[0], ast.Constant):
                try:
                    yield technique, node.args[0].value, evaluate(node.args[1], constants)
                except (KeyError, ValueError):  # another module's, or worked out from other settings
                    continue


def test_hooks_take_what_the_schema_says_for_a_setting_that_is_left_out(root: Path) -> None:
    known = settings_of(root)
    hooks = root / "python" / "vramfit"
    seen = set()
    for path in [*(hooks / "apply").glob("*.py"), hooks / "patch" / "changes.py"]:
        for technique, setting, default in defaults_in(path):
            if setting in known.get(technique, {}):
                assert default == known[technique][setting], f"{path.name}: {setting}"
                seen.add((technique, setting))
    assert {("offload_optimizer", "at_once"), ("offload_activations", "at_least"), ("autocast", "dtype")} <= seen


def test_each_technique_of_the_schema_has_hooks(root: Path) -> None:
    apply = ast.parse((root / "python" / "vramfit" / "apply" / "__init__.py").read_text())
    known = ast.literal_eval(read_constants(apply)["_KNOWN"])
    assert sorted(known) == sorted(settings_of(root))


def constant_of(root: Path, file: str, name: str) -> Any:
    path = root / file
    if path.suffix == ".py":
        constants = read_constants(ast.parse(path.read_text()))
        return evaluate(constants[name], constants)
    found = re.search(rf"\b{name} = (?:Bytes::mib\((\d+)\)|(\d+) << (\d+)|(\d+))", path.read_text())
    assert found, f"{file}: {name}"
    mib, shifted, by, plain = found.groups()
    return int(mib) * MIB if mib else int(shifted) << int(by) if by else int(plain)


APPLY, TECHNIQUES = "python/vramfit/apply", "src/plan/techniques"


@pytest.mark.parametrize(
    ("places", "value"),
    [
        ({f"{APPLY}/offload_optimizer.py": "_AT_ONCE", f"{TECHNIQUES}/offload_optimizer.cc": "kAtOnce"}, 64 * MIB),
        ({f"{APPLY}/offload_activations.py": "_LEAST", "src/plan/stream/offloads.cc": "kLeastOffloaded"}, MIB),
        ({f"{APPLY}/chunked_loss.py": "_CHUNK_BYTES", f"{TECHNIQUES}/chunked_loss.cc": "kChunk"}, 32 * MIB),
        (
            {f"{APPLY}/chunked_loss.py": "_LINEAR_CHUNK_BYTES", f"{TECHNIQUES}/chunked_loss.cc": "kChunkWithLayer"},
            128 * MIB,
        ),
        (
            {
                "python/vramfit/observe/linear_layers.py": "RANK",
                f"{TECHNIQUES}/lora.cc": "kRank",
                "src/estimate/estimate.h": "rank",
            },
            8,
        ),
    ],
)
def test_the_planner_foretells_what_the_hooks_do(root: Path, places: dict[str, str], value: int) -> None:
    assert {place: constant_of(root, place, name) for place, name in places.items()} == dict.fromkeys(places, value)


def test_what_is_said_of_chunks_and_ranks_is_what_is_done(root: Path) -> None:
    schema = (root / "docs" / "plan.schema.json").read_text()
    assert "left out: 32 MiB, with `linear` 128 MiB" in schema
    assert settings_of(root)["lora"]["rank"] == 8


def test_optimizers_that_treat_parameters_one_by_one_are_the_same(root: Path) -> None:
    hooks = read_constants(ast.parse((root / APPLY / "one_by_one.py").read_text()))["_ONE_BY_ONE"]
    planner = re.search(r"kOneByOne = \{(.*?)\}", (root / TECHNIQUES / "one_by_one.h").read_text(), re.DOTALL)
    assert planner
    names = [word.value for word in ast.walk(hooks) if isinstance(word, ast.Constant)]
    assert sorted(names) == sorted(re.findall(r'"(\w+)"', planner[1]))
