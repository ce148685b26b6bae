"""`--values cpu` gives the values a CPU run gives; `--values zeros` says which lines let device data decide."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from card_run import SCRIPTS, run_script

pytestmark = [pytest.mark.by_release, pytest.mark.warm]

EXACT = ("--steps", "all", "--values", "cpu")
# The two runs sum in different orders. The longest sums here have some 2000 terms (a weight's gradient in a
# convolution: 8 pictures of 16 x 16); summed in any order they differ by about sqrt(2000) x 6e-8 = 3e-6 of themselves
# in float32, and a step of SGD passes a tenth of that on. exact_values.py says why AdamW runs in float64.
DECIMALS = 5


def has(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


@pytest.fixture(scope="module")
def both() -> tuple[dict, dict]:
    """What the script says on the CPU, and on a virtual card with exact values."""
    extra = ("bert",) if has("transformers") else ()
    on_cpu = run_script("exact_values.py", "cpu", *extra).line()
    return on_cpu, run_script("exact_values.py", "cuda", *extra, options=EXACT).line()


@pytest.mark.parametrize(
    "name", ["cnn, SGD", "cnn, fused AdamW", "transformer, SGD", "transformer, AdamW", "LSTM", "GRU", "RNN"]
)
def test_losses_equal_a_cpu_run(both: tuple[dict, dict], name: str) -> None:
    on_cpu, on_card = both
    assert on_card[name] == pytest.approx(on_cpu[name], abs=10**-DECIMALS)
    assert any(loss != 0 for loss in on_card[name])


@pytest.mark.skipif(not has("transformers"), reason="this environment has no transformers")
def test_losses_of_bert_equal_a_cpu_run(both: tuple[dict, dict]) -> None:
    assert both[1]["bert"] == pytest.approx(both[0]["bert"], abs=10**-DECIMALS)


def test_sizes_that_depend_on_data_are_exact(both: tuple[dict, dict]) -> None:
    assert both[1]["sizes"] == both[0]["sizes"]


def test_recomputed_dropout_repeats_itself(both: tuple[dict, dict]) -> None:
    assert both[1]["checkpointed dropout"] is True


@pytest.mark.skipif(not has("torchvision"), reason="this environment has no torchvision")
def test_a_detector_trains_and_detects_with_exact_values() -> None:
    found = run_script("detector.py", options=EXACT).line()
    assert found["loss_classifier"] == pytest.approx(1.609, abs=0.3)  # ln 5 for random weights and 5 classes
    assert found["detections"] > 0


def test_lines_that_let_device_data_decide_are_named() -> None:
    source = (SCRIPTS / "reads_device_data.py").read_text().splitlines()
    noted = run_script("reads_device_data.py").result["depends_on_data"]
    lines = {int(entry["line"].split(":")[1].split()[0]): entry["what"] for entry in noted}
    wanted = {n: text.split("# ")[1] for n, text in enumerate(source, 1) if "# a size" in text or "# a branch" in text}
    wanted |= {n: "a whole number" for n, text in enumerate(source, 1) if "# a whole number" in text}
    assert set(lines) == set(wanted)
    for number, kind in wanted.items():
        assert lines[number].startswith(kind)
    assert all(Path(entry["line"].split(":")[0]).name == "reads_device_data.py" for entry in noted)
