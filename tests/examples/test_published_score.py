from __future__ import annotations

import csv
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("score", ROOT / "bench" / "published" / "score.py")
score = importlib.util.module_from_spec(spec)
spec.loader.exec_module(score)


@pytest.mark.parametrize(
    ("measured", "here", "kind"),
    [
        (128, 128, "exact"),
        (128, 96, "one step"),
        (128, 64, "far"),
        (128, 192, "unsafe"),
        (1, 0, "one step"),
        (4, 0, "far"),
    ],
)
def test_an_answer_that_is_too_large_is_worse_than_one_that_is_too_small(measured, here, kind):
    assert score.classify(measured, here) == kind


def test_models_that_could_not_run_are_named_and_not_counted():
    rows = {
        "a": {"status": "ok", "measured": 64, "largest": 64},
        "b": {"status": "ok", "measured": 64, "largest": 96},
        "c": {"status": "failed", "tried": {}},
    }
    text = "\n".join(score.score_timm(rows))
    assert "| exact | 1 | 50 % |" in text
    assert "| unsafe | 1 | 50 % |" in text
    assert "could not run here: c" in text
    assert "b: 64 measured, 96 here (unsafe)" in text


def test_bert_rows_show_their_error():
    row = {"batch": "4", "accumulate": "1", "checkpoint": "0", "precision": "fp32", "optimizer": "adamw"}
    good = {**row, "device_mib": "1000", "status": "ok", "device_bytes": 1010 * 2**20}
    bad = {**row, "device_mib": "1000", "status": "out_of_memory", "error": "no"}
    text = "\n".join(score.score_bert([good, bad]))
    assert "| 4 x 1, fp32, adamw | 1000 MiB | 1010 MiB | +1.0 % |" in text
    assert "| 1000 MiB | out_of_memory | |" in text
    assert "median error 1.0 %, largest 1.0 %" in text


def test_litgpt_rows_that_ran_out_are_compared_but_not_averaged():
    ran = {"configuration": "a", "allocated_gb": "10.00", "status": "ok", "allocated_bytes": 9_800_000_000}
    out = {"configuration": "b", "allocated_gb": "OOM", "status": "out_of_memory", "error": "no"}
    wrong = {"configuration": "c", "allocated_gb": "OOM", "status": "ok", "allocated_bytes": 20_000_000_000}
    text = "\n".join(score.score_litgpt([ran, out, wrong]))
    assert "| a | 10.00 GB | 9.80 GB | -2.0 % |" in text
    assert "| b | out of memory | out of memory | |" in text
    assert "| c | out of memory | 20.00 GB | |" in text
    assert "median error 2.0 %, largest 2.0 %" in text


def test_fixture_rows_are_on_the_ladder():
    rows = list(csv.DictReader((ROOT / "fixtures" / "published" / "timm_train_rtx3090.csv").open()))
    assert len(rows) >= 30
    for row in rows:
        largest, failed = int(row["largest_batch_that_ran"]), int(row["next_batch_failed"])
        assert score.LADDER.index(failed) == score.LADDER.index(largest) - 1
