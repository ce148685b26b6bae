"""The statements of a script that put something into what holds tensors. Needs no torch."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from product import STAGE

sys.path.insert(0, str(STAGE / "python"))

from vramfit.diagnose import fillers

SOURCE = """
import heapq
class Log:
    def add(self, key, value):
        self.logged.setdefault(key, []).append(value)
def train(model, metric, best, queue):
    total = 0
    history, seen = [], {}
    for step in range(9):
        loss = model(step)
        total = total + loss
        history.append(loss)
        seen[step] = loss
        heapq.heappush(best, loss)
        metric.update(loss)
        queue = torch.cat([queue, loss])
        latest = loss
"""


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    script = tmp_path / "train.py"
    script.write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fillers, "_script_files", lambda: [str(script)])
    return fillers.find


@pytest.mark.parametrize(
    ("holder", "places"),
    [
        ("total", ["train.py:11 in train"]),
        ("trainer.log.logged['loss'][3]", ["train.py:5 in Log.add"]),
        ("history[12]", ["train.py:12 in train"]),
        ("seen[(1, [2])]", ["train.py:13 in train"]),
        ("best[0][1]", ["train.py:14 in train"]),
        ("metric.history[3]", ["train.py:12 in train"]),  # the list, and not whatever metric.update() does
        ("history[3] -> loss in closure of train()", ["train.py:12 in train"]),
        ("queue", ["train.py:16 in train"]),
        ("latest", []),
        ("nothing_of_the_script[3]", []),
        ("", []),
    ],
)
def test_the_line_that_fills_a_holder(found: object, holder: str, places: list[str]) -> None:
    assert found(holder) == places  # type: ignore[operator]


def test_a_file_that_is_no_python_fills_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "broken.py"
    script.write_text("history.append(\n")
    monkeypatch.setattr(fillers, "_script_files", lambda: [str(script), str(tmp_path / "gone.py")])
    assert fillers.find("history[1]") == []
