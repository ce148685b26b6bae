"""vramfit replay on snapshots of a real job on the virtual GPU: the proof, and what it says of other settings against
what the job then really does under them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from product import ROOT, Finished, Product

SHARED = ("--steps", "all", "--files", "shared")  # what the job writes is read here
JOB = (Path(__file__).resolve().parent / "ragged_job.py").read_text()
EXPANDABLE = "expandable_segments:True"
MIB = 1 << 20


def record(product: Product, conf: str, *words: str, gpu: str = "rtx3060:4GiB") -> tuple[Path, dict[str, Any]]:
    """A snapshot of the job under these settings, and what the job said of itself."""
    snapshot = product.folder / f"{'-'.join([conf.split(':')[0] or 'plain', *words])}.pickle"
    done = product.run(JOB, str(snapshot), *words, gpu=gpu, options=SHARED, PYTORCH_CUDA_ALLOC_CONF=conf)
    assert snapshot.exists(), str(done)
    return snapshot, json.loads(done.stdout.splitlines()[0])


def replay(product: Product, snapshot: Path, *words: str) -> tuple[dict[str, Any], Finished]:
    report = product.folder / "replay.json"
    done = product.call("replay", str(snapshot), "--json", str(report), *words)
    assert done.exit_code in (0, 1), str(done)
    return json.loads(report.read_text()), done


@pytest.mark.slow
def test_a_recording_replays_exactly_and_foretells_other_settings(product: Product) -> None:
    plain, plain_job = record(product, "")
    _, expandable_job = record(product, EXPANDABLE)
    result, done = replay(product, plain, "--set", EXPANDABLE)
    assert result["proof"]["is_same"], result["proof"]
    assert result["proof"]["blocks"] > 50
    assert result["own"]["peak_reserved_bytes"] == plain_job["peak_reserved"]
    assert result["asked"]["peak_reserved_bytes"] == expandable_job["peak_reserved"]
    assert result["asked"]["peak_reserved_bytes"] < result["own"]["peak_reserved_bytes"]
    assert all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout


@pytest.mark.slow
def test_the_search_finds_what_makes_the_job_fit(product: Product) -> None:
    plain, _ = record(product, "")
    needs = replay(product, plain, "--capacity", "3GiB")[0]["own"]["needs_bytes"]
    tight = f"{needs // MIB - 8}MiB"
    result, done = replay(product, plain, "--capacity", tight, "--search")
    assert not result["own"]["fits"]
    best = result["search"][0]
    assert best["fits"] and best["settings"]
    assert best["needs_bytes"] <= (needs // MIB - 8) * MIB
    assert done.exit_code == 0
    assert "[✗] does not fit with PyTorch's default settings: " in done.stdout
    assert f"PYTORCH_CUDA_ALLOC_CONF={best['settings']}"[:60] in done.stdout.replace("\n", "")
    assert all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout


@pytest.mark.slow
def test_a_recording_that_began_late_is_completed(product: Product) -> None:
    late, _ = record(product, "", "late")
    result, done = replay(product, late)
    assert result["seeded_blocks"] > 20
    assert result["proof"]["same_blocks"] >= 0.9 * result["proof"]["blocks"], result["proof"]
    assert "the recording began late" in done.stdout


def test_an_oom_comes_back_with_its_line_and_owners(product: Product) -> None:
    snapshot = product.folder / "oom.pickle"
    job = """
        import sys, torch
        torch.cuda.memory._record_memory_history(stacks="python")
        def make(mebibytes):
            return torch.empty(mebibytes << 20, dtype=torch.uint8, device="cuda")
        def keep(kept):
            kept.append(make(50))
        kept = []
        for _ in range(7):
            make(90)
            keep(kept)  # the lower part of the 90 MiB: 40 are left above
        try:
            make(300)
        except torch.cuda.OutOfMemoryError:
            torch.cuda.memory._dump_snapshot(sys.argv[1])
    """
    product.run(job, str(snapshot), gpu="rtx3060:900MiB", options=SHARED)
    result, done = replay(product, snapshot)
    assert result["proof"]["is_same"], result["proof"]
    assert done.exit_code == 1
    assert result["own"]["oom"]["tried_bytes"] == 300 * MIB
    assert result["own"]["oom"]["where"].endswith(" make")
    fragmentation = result["fragmentation"]
    assert fragmentation["is_at_oom"]
    assert fragmentation["pinned_bytes"] == 7 * 40 * MIB
    owner = fragmentation["owners"][0]
    assert (owner["pinned_alone_bytes"], owner["live_bytes"], owner["blocks"]) == (280 * MIB, 350 * MIB, 7)
    assert owner["where"].startswith("train.py:") and owner["where"].endswith(" make")
    cured, _ = replay(product, snapshot, "--set", EXPANDABLE)
    assert cured["asked"]["fits"]


def test_fixtures_of_every_release_are_replayed_or_refused_with_a_reason(product: Product) -> None:
    snapshots = sorted((ROOT / "fixtures" / "snapshots").glob("torch-2.*.pickle"))
    assert len(snapshots) > 10
    for snapshot in snapshots:
        done = product.call("replay", str(snapshot), "--json", "-")
        assert done.exit_code in (0, 1, 2), f"{snapshot.name}: {done}"
        if done.exit_code == 2:
            assert "no trace" in done.stderr, f"{snapshot.name}: {done}"
        else:
            assert json.loads(done.stdout)["own"]["peak_reserved_bytes"] > 0, snapshot.name


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["nowhere.pickle"], "nowhere.pickle"),
        (["FIXTURE", "--set", "expandable_segment:True"], "PyTorch has no such setting"),
        (["FIXTURE", "--gpu", "no such card"], "no such card"),
        (["FIXTURE", "--capacity", "many"], "many"),
        (["FIXTURE", "--device", "7"], "no trace of device 7"),
        (["FIXTURE", "--torch", "x"], "not a version"),
    ],
)
def test_what_makes_no_sense_is_refused(product: Product, words: list[str], reason: str) -> None:
    fixture = str(ROOT / "fixtures" / "snapshots" / "torch-2.12.1.pickle")
    done = product.call("replay", *(fixture if word == "FIXTURE" else word for word in words))
    assert done.exit_code == 2
    assert reason in done.stderr


def test_what_was_cut_or_damaged_never_fits_for_certain(product: Product) -> None:
    whole, _ = record(product, "")
    data = whole.read_bytes()
    assert product.call("replay", str(whole), "--gpu", "rtx3090").exit_code == 0
    for share in (0.01, 0.1, 0.5, 0.9, 0.99):
        cut = product.folder / "cut.pickle"
        cut.write_bytes(data[: int(len(data) * share)])
        done = product.call("replay", str(cut), "--gpu", "rtx3090")
        assert done.exit_code != 0 and "[✓]" not in done.stdout, (share, str(done))
        assert "damaged" in done.stdout + done.stderr, (share, str(done))


def test_a_file_that_is_no_snapshot_is_said_to_be_none(product: Product) -> None:
    text = product.folder / "notes.txt"
    text.write_text("he went\n" * 100)
    done = product.call("replay", str(text), "--gpu", "rtx3090")
    assert done.exit_code == 2 and "this is no memory snapshot" in done.stderr, str(done)
    recording = product.folder / "a night.vfw"
    product.call("watch", "--record", str(recording), "--once")
    if not recording.exists():
        recording.write_bytes(b"VFW1" + bytes(12))
    done = product.call("replay", str(recording), "--gpu", "rtx3090")
    assert done.exit_code == 2 and f"vramfit watch --replay '{recording}'" in done.stderr, str(done)
