"""`vramfit report SNAPSHOT` in a real Chromium: curve, allocator map and flame graph at any instant."""

from __future__ import annotations

import gzip
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from chromium import SIZES, ask, check_is_whole, drive, use_trace
from product import ROOT, Product
from stored_runs import HOSTILE
from test_page import write_page

sys.path.insert(0, str(ROOT / "bench"))
from snapshot_file import write_training

FIXTURES = ROOT / "fixtures" / "snapshots"
RECORDED = FIXTURES / "torch-2.12.1.pickle"


def write_trace_page(product: Product, *words: str, exit_code: int = 0) -> Path:
    page = product.folder / "trace.html"
    written = product.call("report", *words, "-o", str(page))
    assert written.exit_code == exit_code, written
    return page


@pytest.fixture(scope="module")
def used(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The recording's page, used step by step once for all who only look at what came of it."""
    return use_trace(packages, write_trace_page(Product(tmp_path_factory.mktemp("trace")), str(RECORDED)))


@pytest.mark.parametrize(("scheme", "width"), SIZES)
def test_a_snapshots_page_is_whole_accessible_and_quiet(
    product: Product, packages: Path, scheme: str, width: int
) -> None:
    check_is_whole(drive(packages, write_trace_page(product, str(RECORDED)), scheme, width))


def test_marks_of_many_steps_do_not_hide_the_curve(product: Product, packages: Path) -> None:
    with open(FIXTURES / "torch-2.14.0.pickle", "rb") as file:
        snapshot = pickle.load(file)
    times = [entry["time_us"] for trace in snapshot["device_traces"] for entry in trace if "time_us" in entry]
    begun, took = min(times), max(times) - min(times)
    snapshot["external_annotations"] = [
        {"name": f"step {i}", "stage": "START", "device": 0, "time_us": begun + took * i // 300} for i in range(300)
    ]
    many = product.folder / "many.pickle"
    many.write_bytes(pickle.dumps(snapshot))
    page = write_trace_page(product, str(many))
    steps = [["boxes", "svg.trace line.mark"], ["sideways"]]
    seen = ask(packages, "drive_charts.mjs", {"page": str(page), "width": 390, "steps": steps})
    places = sorted({round(box[0], 1) for box in seen["answers"][0]})
    assert 2 <= len(places) < 40, places
    assert min(after - before for before, after in zip(places, places[1:])) >= 9


def test_every_packing_and_release_gives_a_page(product: Product, packages: Path) -> None:
    files = sorted(str(file) for file in FIXTURES.iterdir() if file.suffix in {".pickle", ".gz", ".zip", ".pt"})
    assert len(files) > 12
    check_is_whole(drive(packages, write_trace_page(product, *files)))


def test_the_peak_is_shown_first_and_numbers_are_those_of_the_recording(used: dict[str, Any]) -> None:
    seen = used
    assert seen["said"] == []
    # 0.25, 4, 24, 30 and 1.5 MiB, as fixtures/snapshots/train.py asks for them.
    assert seen["first"]["now"] == seen["first"]["spoken"]
    assert "event 10 of 21" in seen["first"]["now"]
    assert "60 MiB allocated, 96 MiB reserved" in seen["first"]["now"]
    assert sum(int(row[3]) for row in seen["first"]["lines"]) == 5
    assert seen["OOM"]["now"].endswith("out of memory")
    assert seen["begin"]["now"].startswith("event 0 of 21")
    assert seen["second"]["now"].startswith("event 1 of 21")


def test_what_the_script_redraws_says_what_the_page_came_with(used: dict[str, Any]) -> None:
    """The tables of the first instant are made in C++ of all blocks; the peak's button makes them anew in the page."""
    assert used["peak"]["lines"] == used["first"]["lines"]
    assert sorted(used["peak"]["segments"]) == sorted(used["first"]["segments"])
    assert used["end"]["segments"] != used["first"]["segments"]


def test_the_map_of_the_end_is_the_snapshots_own(used: dict[str, Any]) -> None:
    seen = used
    snapshot = pickle.loads(RECORDED.read_bytes())
    recorded = {hex(segment["address"]): segment for segment in snapshot["segments"]}
    shown = {row[0]: row for row in seen["end"]["segments"]}
    assert shown.keys() == recorded.keys()
    for address, segment in recorded.items():
        blocks = [block for block in segment["blocks"] if block["state"] != "inactive"]
        assert int(shown[address][7]) == len(blocks)


def test_the_map_is_walked_by_keyboard_and_told_in_words(used: dict[str, Any]) -> None:
    seen = used
    home, right, _, back, down, up, end = seen["map"]
    assert up.rsplit(" segment ")[-1] == right.rsplit(" segment ")[-1], "down and up again"
    assert right == back
    assert len({home, right, down, end}) == 4
    assert re.search(r"24 MiB in use at 0x[0-9a-f]+; .*train\.py:\d+", " ".join(seen["map"]) + seen["pointed"])
    assert " at 0x" in seen["pointed"]
    assert {"hole", "block own-0"} <= set(seen["first"]["drawn"])


def test_what_waits_for_other_streams_has_a_pattern_of_its_own(product: Product, packages: Path) -> None:
    snapshot = pickle.loads(RECORDED.read_bytes())
    trace = snapshot["device_traces"][0]
    last = next(entry for entry in trace if entry["action"] == "alloc" and entry["size"] == 24 << 20)
    trace.append({**last, "action": "free_requested", "time_us": trace[-1]["time_us"] + 1})
    block = next(
        block for segment in snapshot["segments"] for block in segment["blocks"] if block["address"] == last["addr"]
    )
    block["state"] = "active_pending_free"
    file = product.folder / "waiting.pickle"
    file.write_bytes(pickle.dumps(snapshot))
    seen = use_trace(packages, write_trace_page(product, str(file)))
    assert "block waiting" not in seen["first"]["drawn"]
    assert "block waiting" in seen["end"]["drawn"]
    assert "24 MiB" in {row[4] for row in seen["end"]["segments"]}, "in the column of what waits"


def test_the_flame_graph_goes_by_stack_and_by_phase(used: dict[str, Any]) -> None:
    seen = used
    assert seen["choices"] == ["stack", "phase"]
    assert "train.py" in seen["flame"][0]
    assert "%" in seen["flame"][0]
    assert seen["flame"][2] == seen["flame"][0]
    assert any("fixture" in text for text in seen["other"])


def test_time_and_events_are_both_an_axis_and_zoom(used: dict[str, Any]) -> None:
    seen = used
    assert all(text.endswith(" s") for text in seen["first"]["axis"])
    assert seen["zoomed"]["axis"] != seen["first"]["axis"]
    assert all(text.isdigit() for text in seen["events"]["axis"])


@pytest.mark.parametrize("entries", [1_000_000])
def test_a_long_recording_stays_small_and_says_what_it_adds_up(product: Product, packages: Path, entries: int) -> None:
    file = product.folder / "long.pickle"
    written = write_training(file, entries)
    page = write_trace_page(product, str(file))
    assert page.stat().st_size < 10_000_000
    text = page.read_text()
    assert f"of {written} events" in text
    assert "smaller ones" in text
    check_is_whole(drive(packages, page))
    seen = use_trace(packages, page)
    assert seen["said"] == []
    assert "4.70 GiB allocated" in seen["first"]["now"]
    assert seen["peak"]["lines"] == seen["first"]["lines"]
    assert "mixed" not in seen["first"]["drawn"], "at the peak every block is shown"


def test_what_a_snapshot_says_stays_text(product: Product, packages: Path) -> None:
    snapshot = pickle.loads(RECORDED.read_bytes())
    for frame in (frame for entry in snapshot["device_traces"][0] for frame in entry.get("frames", [])):
        frame["name"] = frame["filename"] = HOSTILE
    for annotation in snapshot["external_annotations"]:
        annotation["name"] = HOSTILE
    file = product.folder / "<img src=x onerror=alert(1)>.pickle"
    file.write_bytes(pickle.dumps(snapshot))
    page = write_trace_page(product, str(file))
    check_is_whole(drive(packages, page))
    assert use_trace(packages, page)["said"] == []


def test_a_confidential_page_of_a_snapshot_has_no_stack_path_or_phase(product: Product, packages: Path) -> None:
    file = product.folder / "secret_name.pickle"
    file.write_bytes(RECORDED.read_bytes())
    page = write_trace_page(product, str(file), "--confidential")
    text = page.read_text()
    for word in ("secret_name", "train.py", "fixture<", "main torch", str(product.folder)):
        assert word not in text
    seen = drive(packages, page)
    check_is_whole(seen)
    assert "were left out" in seen["text"]
    assert "60 MiB allocated" in use_trace(packages, page)["first"]["now"]


def test_a_file_that_is_cut_off_gives_what_was_whole_and_says_so(product: Product, packages: Path) -> None:
    cut = product.folder / "cut.pickle"
    whole = RECORDED.read_bytes()
    cut.write_bytes(whole[: len(whole) * 3 // 4])
    seen = drive(packages, write_trace_page(product, str(cut), exit_code=1))
    check_is_whole(seen)
    assert "cut off or damaged" in seen["text"]


@pytest.mark.parametrize("part", [0.5, 0.9])
def test_a_page_of_a_part_of_a_snapshot_is_said_to_be_one(product: Product, part: float) -> None:
    cut = product.folder / "cut.pickle"
    whole = RECORDED.read_bytes()
    cut.write_bytes(whole[: int(len(whole) * part)])
    finished = product.call("report", str(cut), "-o", "part.html")
    assert finished.exit_code == 1
    assert "cut.pickle: only what stands before byte" in finished.stderr
    assert (product.folder / "part.html").exists()
    assert product.call("report", str(RECORDED), "-o", "all.html").exit_code == 0


@pytest.mark.parametrize("content", [b"", b"not a pickle", pickle.dumps([1, 2]), gzip.compress(b"nothing")])
def test_a_file_that_is_no_snapshot_is_an_error_and_writes_nothing(product: Product, content: bytes) -> None:
    file = product.folder / "other.pickle"
    file.write_bytes(content)
    finished = product.call("report", str(file), "-o", "none.html")
    assert finished.exit_code != 0
    assert "other.pickle" in finished.stderr
    assert not (product.folder / "none.html").exists()


def test_a_file_that_is_not_there_is_an_error(product: Product) -> None:
    finished = product.call("report", "nowhere.pickle")
    assert finished.exit_code != 0
    assert "nowhere.pickle" in finished.stderr


def test_runs_and_snapshots_share_a_page(product: Product, packages: Path) -> None:
    write_page(product, "1")
    page = write_trace_page(product, "1", str(RECORDED))
    seen = drive(packages, page)
    check_is_whole(seen)
    assert seen["text"].index("Run 1: run") < seen["text"].index("Snapshot torch-2.12.1.pickle")


def test_a_runs_peak_is_a_flame_graph_by_module_and_by_line(product: Product, packages: Path) -> None:
    page = write_page(product, "1")
    seen = drive(packages, page)
    assert "by\nmodule" in seen["text"] or "by module" in seen["text"]
    assert seen["violations"] == []
