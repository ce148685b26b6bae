"""The mission's cases as `vramfit run` answers them: which of them run out of memory, where, and which fit."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from product import VRAMFIT

EXAMPLES = Path(__file__).parents[2] / "examples"
EIGHT_GB = "rtx3070:8111MiB"  # the memory of a GTX 1070, on a card that every tested PyTorch build still supports

pytestmark = [pytest.mark.skipif(not VRAMFIT.exists(), reason="vramfit is not built"), pytest.mark.warm]


def needs(module: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(module) is None, reason=f"{module} is not installed")


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """A PP-LiteSeg dataset outside the repository."""

    folder = tmp_path_factory.mktemp("pp_liteseg") / "scenes"
    maker = EXAMPLES / "pp_liteseg" / "make_dataset.py"
    subprocess.run([sys.executable, maker, folder, "--images", "30"], check=True, capture_output=True)
    return folder


def test_pp_liteseg_at_batch_8_runs_out_on_4_gb(product, scenes):
    script = EXAMPLES / "pp_liteseg" / "train.py"
    finished = product.run(script, "--batch-size", "8", "--data", str(scenes), gpu="gtx1650")
    # The first refusal is short by less than the context's uncertainty, which alone would be a borderline case.
    assert finished.result["verdict"] in ("out_of_memory", "borderline"), finished
    assert finished.exit_code != 0
    assert finished.result["oom"]["phase"] == "train"
    assert any("model.py" in frame["file"] or "losses.py" in frame["file"] for frame in finished.result["oom"]["stack"])


def test_pp_liteseg_at_batch_2_fits_4_gb_and_is_seen_to_train_validate_and_save(product, scenes):
    script = EXAMPLES / "pp_liteseg" / "train.py"
    finished = product.run(script, "--batch-size", "2", "--data", str(scenes), gpu="gtx1650")
    assert finished.exit_code == 0, finished
    assert finished.result["verdict"] == "fits", finished
    assert {"train", "validate"} <= {phase["name"] for phase in finished.result["phases"]}
    peak = finished.result["devices"][0]["peak_allocated_bytes"] / 2**20
    assert 1100 < peak < 1700


def test_validation_as_it_should_be_fits(product):
    finished = product.run(EXAMPLES / "validation_oom" / "train.py", "--validation", "fixed", gpu=EIGHT_GB)
    assert finished.result["verdict"] in ("fits", "borderline"), finished


@pytest.mark.parametrize("variant", ["no-grad-missing", "gather", "leftovers", "pin-thread"])
def test_training_fits_and_validation_dies(product, variant):
    finished = product.run(EXAMPLES / "validation_oom" / "train.py", "--validation", variant, gpu=EIGHT_GB)
    assert finished.result["verdict"] == "out_of_memory", finished
    assert finished.result["oom"]["phase"] == "validate"


@needs("transformers")
@pytest.mark.parametrize(
    ("options", "verdict"), [((), "out_of_memory"), (("--amp", "--checkpoint"), "fits")], ids=["fp32", "amp-checkpoint"]
)
def test_bert_large_needs_both_remedies_on_12_gb(product, options, verdict):
    script = EXAMPLES / "bert_large" / "train.py"
    finished = product.run(script, "--texts", "200", *options, gpu="rtx3060")
    assert finished.result["verdict"] == verdict, finished


@needs("torchvision")
@pytest.mark.parametrize(("mode", "verdict"), [("whole", "out_of_memory"), ("tiles", "fits")])
def test_large_images_fit_in_tiles_only(product, mode, verdict):
    script = EXAMPLES / "resnet152_test" / "test.py"
    finished = product.run(script, "--mode", mode, "--images", "8", gpu="gtx1650")
    assert finished.result["verdict"] == verdict, finished


@needs("transformers")
def test_gpt_3_is_too_large_for_one_card_and_takes_no_memory_of_the_host(product):
    finished = product.run(EXAMPLES / "gpt3" / "train.py", gpu="rtx3060")
    assert finished.result["verdict"] == "out_of_memory", finished
    assert finished.result["oom"]["phase"] == "load"
    loading = finished.result["oom"]["loading"]
    assert loading["to_come_bytes"] > 600 << 30
    assert finished.result["host_peak_bytes"] < 4 << 30
