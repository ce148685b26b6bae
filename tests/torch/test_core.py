"""PyTorch on the virtual GPU's core: its allocator's back ends, errors, streams, graphs and reports."""

from __future__ import annotations

import json
from typing import Any

import pytest
from card_run import MIB, run_script

pytestmark = [pytest.mark.by_release, pytest.mark.warm]

# Graphs come last: after a failed capture PyTorch up to 2.6 can no longer empty its cache.
TOGETHER = ("tensors", "segments", "pinned", "contents", "streams", "reports", "out_of_memory", "graphs")


def core(check: str, conf: str | None = None, **how: Any) -> dict[str, Any]:
    variables = {"PYTORCH_CUDA_ALLOC_CONF": conf} if conf else {}
    if check == "fork":  # of a process that has begun as such
        variables["VRAMFIT_WARM"] = ""
    return run_script("core.py", check, variables=variables, **how).line()


@pytest.fixture(scope="module")
def checks() -> dict[str, dict[str, Any]]:
    """The checks that need nothing special, in one process: by name."""
    lines = [json.loads(line) for line in run_script("core.py", *TOGETHER).stdout.splitlines() if line[:1] == "{"]
    return dict(zip(TOGETHER, lines, strict=True))


def test_tensors_read_as_zeros_and_gradients_have_their_shapes(checks: dict[str, Any]) -> None:
    line = checks["tensors"]
    assert line["zeros"] == [[0.0] * 4] * 3
    assert line["grad"] == [1000]
    assert line["allocated"] == 512 + 2 * 4096


def test_the_error_is_pytorchs_own_and_comes_at_the_limit(checks: dict[str, Any]) -> None:
    line = checks["out_of_memory"]
    gib = line["total"] / (1 << 30)
    assert f"Tried to allocate 64.00 MiB. GPU 0 has a total capacity of {gib:.2f} GiB" in line["message"]
    assert "Including non-PyTorch memory, this process has" in line["message"]
    assert line["free"] < 64 * MIB
    used = line["total"] - line["free"]
    assert line["blocks"] * 64 * MIB <= used < (line["blocks"] + 1) * 64 * MIB + 2048 * MIB


def test_the_native_back_end_gives_whole_segments_back(checks: dict[str, Any]) -> None:
    line = checks["segments"]
    assert line["before"] - line["after"] == 60 * MIB


@pytest.mark.parametrize(
    "conf, before, after",
    [("expandable_segments:True", 160, 120), ("backend:cudaMallocAsync", 160, 96)],
    ids=["expandable", "async"],
)
def test_each_back_end_reserves_as_on_a_card(conf: str, before: int, after: int) -> None:
    line = core("segments", conf)
    assert line["allocated"] == 90 * MIB
    assert (line["before"], line["after"]) == (before * MIB, after * MIB)


def test_graphs_are_captured_replayed_and_refuse_what_a_card_refuses(checks: dict[str, Any]) -> None:
    line = checks["graphs"]
    assert line["shape"] == [1000]
    assert "capture" in line["refused"]


def test_a_recorded_stream_keeps_its_block_until_it_is_done(checks: dict[str, Any]) -> None:
    line = checks["streams"]
    assert line["pending"] == 4 * MIB
    assert line["left"] == 0
    assert not line["was_done"]
    assert line["ms"] > 0


def test_pinned_memory_copies_there_and_back(checks: dict[str, Any]) -> None:
    assert checks["pinned"] == {"pinned": True, "same": True}


def test_a_new_tensor_shows_nothing_of_the_old_one(checks: dict[str, Any]) -> None:
    assert checks["contents"] == {"same_block": True, "old": 7.0, "new": 0.0}


def test_snapshot_and_summary_agree_with_the_allocator(checks: dict[str, Any]) -> None:
    line = checks["reports"]
    assert line["segments"] == line["reserved"]
    assert "alloc" in line["actions"] and "segment_alloc" in line["actions"]
    assert "PyTorch CUDA memory summary" in line["summary"]


def test_cuda_does_not_survive_a_fork() -> None:
    assert "Cannot re-initialize CUDA in forked subprocess" in core("fork")["child"]


def test_a_card_older_than_the_wheel_has_no_kernels() -> None:
    line = core("old_card", gpu="gtx1070")
    oldest = min(int(name.removeprefix("sm_")) for name in line["supported"] if name.startswith("sm_"))
    assert line["capability"] == [6, 1]
    if oldest > 61:
        assert "no kernel image is available for execution on the device" in line["message"]
    else:
        assert line["message"] == ""
