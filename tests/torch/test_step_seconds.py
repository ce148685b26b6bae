"""What a step's estimated time depends on, and how near a real card's it is; the cuDNN oracle's handle of cublasLt."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from card_run import ROOT, STAGE, run_on_card

CONVOLUTIONS = """
import sys, torch
torch.backends.cudnn.allow_tf32 = sys.argv[1] == "tf32"
net = torch.nn.Sequential(*[torch.nn.Conv2d(256, 256, 3, padding=1) for _ in range(4)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.ones(32, 256, 56, 56, device="cuda")
for _ in range(3):
    net(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
COPIES = """
import sys, torch
net = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x, kept = torch.ones(256, 1024, device="cuda"), torch.ones(64 << 20, device="cuda")
for _ in range(3):
    net(x).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    if sys.argv[1] == "host":
        kept.cpu()
"""


def seconds(tmp_path: Path, script: str, argument: str) -> float:
    file = tmp_path / "job.py"
    file.write_text(script)
    done = run_on_card(sys.executable, str(file), argument, gpu="h200")
    assert done.exit_code == 0, done.tail()
    return done.result["estimated_step_seconds"]["seconds"]


def test_convolutions_in_float32_run_on_tensor_cores_unless_the_script_forbids_it(tmp_path: Path) -> None:
    # A real H200 trained VGG-16 in float32 in a quarter of the time that products without TF32 would take.
    assert seconds(tmp_path, CONVOLUTIONS, "tf32") < seconds(tmp_path, CONVOLUTIONS, "float32") / 1.5


# Whether a job is in the half of the H200's recorded jobs, by its name, that no figure was fitted on (bench/time/run,
# `is_for_fit`).
def is_left_out(job: str) -> bool:
    return hashlib.sha256(job.split()[0].encode()).digest()[0] % 2 != 0


RECORDED = json.loads((ROOT / "fixtures" / "real_cards" / "h200_times.json").read_text())["jobs"]
LEFT_OUT = [job for job in RECORDED if is_left_out(job)]
# A host that launches faster than in other jobs, depthwise convolutions in float32, and TF32 in VGG's.
KNOWN_OUTSIDE = {"efficientnet_b0 bf16 channels_last 128", "efficientnet_b0 fp32 64", "vgg16 fp32 64"}


@pytest.mark.parametrize(
    "job", [pytest.param(job, marks=pytest.mark.long if job in KNOWN_OUTSIDE else ()) for job in LEFT_OUT]
)
def test_most_steps_of_a_real_h200_are_within_what_is_said(job: str) -> None:
    script = ROOT / "tools" / "validate_on_device" / "times.py"
    done = run_on_card(sys.executable, str(script), "--train", job, gpu="h200")
    assert done.exit_code == 0, done.tail()
    said, is_within = done.result["estimated_step_seconds"], job not in KNOWN_OUTSIDE
    assert not is_within or said["low"] <= RECORDED[job]["step_seconds"] <= said["high"], said


def test_half_of_the_recorded_jobs_are_left_out_of_what_was_fitted() -> None:
    assert len(LEFT_OUT) == 8 and set(LEFT_OUT) > KNOWN_OUTSIDE


def test_copies_to_the_host_take_time(tmp_path: Path) -> None:
    assert seconds(tmp_path, COPIES, "host") > seconds(tmp_path, COPIES, "card") + 256e6 / 64e9


@pytest.mark.parametrize(("outside", "code"), [("1", 0), (None, 1)])
def test_cublaslt_has_a_handle_for_the_oracle_and_none_for_a_process_without_a_card(
    outside: str | None, code: int
) -> None:
    library = STAGE / "lib" / "cu13" / "libcublasLt.so.13"
    ask = f"import ctypes; h = ctypes.c_void_p(); print(ctypes.CDLL({str(library)!r}).cublasLtCreate(ctypes.byref(h)))"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VRAMFIT_")}
    if outside:
        environment["VRAMFIT_OUTSIDE"] = outside
    done = subprocess.run([sys.executable, "-c", ask], env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) == code
