"""Recorded texts, each diagnosed first-ranked; and texts that look like a cause and are not."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest
from doctor_calls import HERE, Doctor
from product import strict_schema

TEXTS = sorted((HERE / "texts").glob("*.txt"))
NEAR_MISSES = sorted((HERE / "near_misses").glob("*.txt"))
SCHEMA = strict_schema("doctor")


def label_of(path: Path) -> str:
    return path.stem.split("--")[0]


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.stem)
def test_a_text_is_diagnosed_first_ranked(doctor: Doctor, text: Path) -> None:
    done = doctor.look(str(text))
    assert done.exit_code == 1, str(done)
    jsonschema.validate(done.result, SCHEMA)
    ranked = [(one["label"], one["confidence"]) for one in done.result["findings"]]
    assert ranked[0][0] == label_of(text), ranked
    first = done.result["findings"][0]
    assert first["evidence"] or first["label"] == "unknown"
    assert " ".join(done.stdout.split()).count(done.result["verdict"]) == 2, "the verdict stands first and last"
    assert all(len(line) <= 80 for line in done.stdout.splitlines() if "$ " not in line), done.stdout


@pytest.mark.parametrize("text", NEAR_MISSES, ids=lambda path: path.stem)
def test_a_near_miss_is_not_diagnosed(doctor: Doctor, text: Path) -> None:
    done = doctor.look(str(text))
    found = {one["label"]: one["confidence"] for one in done.result["findings"]}
    first = done.result["findings"][0]["label"] if done.result["findings"] else ""
    assert first != label_of(text), found
    assert found.get(label_of(text), 0) < 0.5, found
