"""The mission's second case: training fits, validation runs out. Each variant is named, and the advice cures it."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from doctor_calls import Doctor
from product import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.warm]

EXAMPLE = ROOT / "examples" / "validation_oom"
# Builds for CUDA 13 have no kernels for the mission's own card: one of its size, then. Without a driver torch can't be
# imported here, only read.
BUILD = (Path(find_spec("torch").origin).parent / "version.py").read_text()
CARD = "RTX 2070" if "+cu13" in BUILD else "GTX 1070"

# Variant -> its cause, and the advice as a change of the script: (file, text, text).
VARIANTS = {
    "no-grad-missing": (
        "no_grad_missing",
        ("train.py", 'contextlib.nullcontext() if args.validation == "no-grad-missing" else torch.no_grad()',
         "torch.inference_mode()"),
    ),
    "gather": (
        "preds_accumulated_on_gpu",
        ("train.py", "collected.append((logits, labels))",
         "hits += (logits.argmax(1) == labels).sum()\n                pixels += labels.numel()"),
    ),
    "leftovers": (
        "refs_kept_across_steps",
        (
            "train.py",
            '        print(f"epoch {epoch}: accuracy',
            '        del leftovers\n        print(f"epoch {epoch}: accuracy',
        ),
    ),
    "pin-thread": (
        "loader_on_gpu",
        (
            "data.py",
            """        self.images = self.images.pin_memory().cuda(non_blocking=True)
        labels = self.labels.pin_memory().cuda(non_blocking=True)
        self.labels = torch.nn.functional.one_hot(labels, self.classes)
""",
            """        self.images, self.labels = self.images.pin_memory(), self.labels.pin_memory()
""",
        ),
    ),
}  # fmt: skip


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    folder = tmp_path / "validation_oom"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    return folder


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_variant_is_diagnosed_and_the_advice_cures_it(doctor: Doctor, copy: Path, variant: str) -> None:
    label, (file, before, after) = VARIANTS[variant]
    words = ["--gpu", CARD, "--", sys.executable, str(copy / "train.py"), "--validation", variant]
    sick = doctor.look(*words)
    assert sick.exit_code == 1, str(sick)
    ranked = [(one["label"], one["confidence"]) for one in sick.result["findings"]]
    assert ranked[0][0] == label and ranked[0][1] >= 0.9, ranked
    assert sick.result["findings"][0]["fixes"], "a cause without advice"
    text = (copy / file).read_text()
    assert before in text
    (copy / file).write_text(text.replace(before, after))
    cured = doctor.look(*words)
    found = [(one["label"], one["severity"]) for one in cured.result["findings"]]
    assert "out_of_memory" not in cured.result["read"][-1], f"{found}\n{cured}"
    assert label not in [name for name, _ in found], found


def test_another_process_beside_it_is_named(doctor: Doctor, copy: Path) -> None:
    words = ["--", sys.executable, str(copy / "train.py"), "--validation", "fixed"]
    done = doctor.look("--gpu", CARD, "--occupied", "4GiB", *words)
    assert done.result["findings"][0]["label"] == "other_process", str(done)
    alone = doctor.look("--gpu", CARD, *words)
    assert alone.exit_code == 0, str(alone)
