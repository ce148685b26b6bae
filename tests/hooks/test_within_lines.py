"""Branches within a line: found in a script's text, and watched call by call."""

from __future__ import annotations

import ast
import sys
import textwrap
from pathlib import Path

import pytest
from hooked_job import STAGE

sys.path.insert(0, str(STAGE / "python"))
from vramfit.steer.coverage import within_lines
from vramfit.steer.coverage.within_lines import GIVEN_UP, Masks

TEXT = textwrap.dedent("""
    def step(number, items):
        if number == 3: first()
        if number == 4:
            below()
        value = one() if number else other()
        number > 5 and late() and later()
        for item in items: each(item)
        while number > 7: turn(); number = 0
        if number == 6: number = 0
""")


def branches() -> dict[str, str]:
    found = within_lines.find(ast.parse(TEXT))
    return {"; ".join(ast.unparse(node) for node in branch.nodes): branch.when() for branch in found}


def test_each_is_found_with_what_decides_of_it() -> None:
    assert branches() == {
        "first()": "if number == 3",
        "one()": "if number",
        "other()": "unless number",
        "late()": "if number > 5",
        "later()": "if number > 5 and late()",
        "each(item)": "if items gives anything",
        "turn(); number = 0": "if number > 7",
    }


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code has no columns")
def test_a_branch_is_reached_by_a_call_in_it_and_what_is_given_up_is_not_known(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text(TEXT)
    module = compile(TEXT, str(file), "exec")
    code = next(constant for constant in module.co_consts if hasattr(constant, "co_code"))
    masks = Masks()
    assert masks.mask_of(module, {2}) is None
    mask = masks.mask_of(code, set(range(3, 12)))
    assert mask is not None and mask.count(within_lines.WANTED) == 7
    found = list(within_lines.find(ast.parse(TEXT)))
    one = [branch for branch in found if ast.unparse(branch.nodes[0]) == "one()"]
    calls = [call for call in within_lines._calls_of(code) if within_lines._makes(one[0], call)]
    masks.reach(code, calls[0].offset)
    known = masks.sort(str(file), found)
    assert known.reached == one and len(known.not_reached) == 6 and not known.unknown
    mask[0] = GIVEN_UP
    given_up = masks.sort(str(file), found)
    assert given_up.reached == one and given_up.unknown == known.not_reached and not given_up.not_reached
