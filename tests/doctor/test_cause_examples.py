"""The smallest example of each cause, run on the virtual GPU: it really happens, and is diagnosed first-ranked."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from doctor_calls import Doctor
from product import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.warm]

EXAMPLES = sorted((ROOT / "src" / "doctor" / "examples").glob("*.py"))
TEXTS = sorted((ROOT / "src" / "doctor" / "examples").glob("*.txt"))


def options_of(example: Path) -> list[str]:
    """The options of the command that stands in its first line."""
    (command,) = re.findall(r"^# vramfit doctor (.*) -- python .*$", example.read_text(), re.MULTILINE)
    return shlex.split(command)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_diagnosed_first_ranked(doctor: Doctor, example: Path) -> None:
    done = doctor.look(*options_of(example), "--", sys.executable, str(example))
    assert done.exit_code == 1, str(done)
    ranked = [(one["label"], one["confidence"]) for one in done.result["findings"]]
    assert ranked and ranked[0][0] == example.stem, f"{ranked}\n{done}"
    assert ranked[0][1] >= 0.5


@pytest.mark.parametrize("example", TEXTS, ids=lambda path: path.stem)
def test_an_example_that_is_a_text_is_diagnosed_first_ranked(doctor: Doctor, example: Path) -> None:
    done = doctor.look(str(example))
    assert done.result["findings"][0]["label"] == example.stem, str(done)


def test_every_cause_has_an_example(doctor: Doctor) -> None:
    listed = doctor.product.call("explain").stdout
    labels = {line.split()[1] for line in listed.splitlines() if line.startswith("VF")}
    assert labels == {path.stem for path in EXAMPLES + TEXTS}
    assert len(labels) >= 35
