"""Every tensor over the allocator's events, in a real Chromium: drawn, zoomed, clicked and searched."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import pytest
from chromium import ask
from product import ROOT, Product
from stored_runs import HOSTILE
from test_trace import RECORDED, write_trace_page

sys.path.insert(0, str(ROOT / "bench"))
from snapshot_file import write_training

VIEW = ".trace-stack .view"
Steps = list[list[Any]]


def use(packages: Path, page: Path, steps: Steps, width: int = 1280) -> list[Any]:
    seen = ask(packages, "drive_charts.mjs", {"page": str(page), "width": width, "steps": steps})
    assert seen["said"] == []
    return list(seen["answers"])


@pytest.mark.parametrize("width", [390, 800, 1280, 2560])
def test_every_tensor_is_drawn_within_the_picture_at_every_width(product: Product, packages: Path, width: int) -> None:
    page = write_trace_page(product, str(RECORDED))
    steps: Steps = [["boxes", f"{VIEW} path"], ["attributes", [f"{VIEW} svg", "viewBox"]], ["sideways"]]
    steps += [["texts", f"{VIEW} text.end"], ["text", ".stack-note"]]
    boxes, [view_box], sideways, sizes, note = use(packages, page, steps, width)
    right, bottom = (float(number) for number in view_box.split()[2:])
    assert len(boxes) >= 5
    assert all(left >= -1 and top >= -1 and end <= right and low <= bottom for left, top, end, low in boxes)
    assert sideways <= 0
    assert {"0 B", "20 MiB", "40 MiB"} <= set(sizes)
    assert note.startswith("Events 0 to 21: 9 tensors in sight, ")


def test_a_click_tells_a_tensors_stack_and_life(product: Product, packages: Path) -> None:
    page = write_trace_page(product, str(RECORDED))
    # At event 10 of 21 there lie, from the lowest up, 0.25, 4, 24 and 30 MiB, and 1.5 MiB on top.
    place = 70 + (1116 - 82) * 10.5 / 21
    steps: Steps = [["click_at", [VIEW, [place / 1116, 0.25]]], ["text", ".trace-stack .told"]]
    steps += [["texts", ".stack-whole li"], ["count", f"{VIEW} .chosen-block"], ["text", ".trace-control output"]]
    steps += [["click_at", [VIEW, [place / 1116, 0.6]]], ["text", ".trace-stack .told"]]
    steps += [["focus", VIEW], ["press", "Escape"], ["text", ".trace-stack .told"], ["count", ".stack-whole li"]]
    answers = use(packages, page, steps)
    assert answers[1].startswith("30 MiB at 0x")
    assert "train.py" in answers[1]
    assert "there from event 8 of 21" in answers[1]
    assert " events, " in answers[1]
    assert any("train.py" in frame for frame in answers[2])
    assert answers[3] == 1
    assert answers[4].startswith("event 10 of 21"), "the other pictures show that instant too"
    assert answers[6].startswith("24 MiB at 0x")
    assert answers[9] == ""
    assert answers[10] == 0


def test_dragging_zooms_and_the_keyboard_does_all_of_it(product: Product, packages: Path) -> None:
    page = write_trace_page(product, str(RECORDED))
    steps: Steps = [["drag", [VIEW, [0.4, 0.5], [0.6, 0.5]]], ["text", ".stack-note"], ["texts", f"{VIEW} text.middle"]]
    steps += [["focus", VIEW], ["press", "0"], ["text", ".stack-note"], ["press", "+"], ["text", ".stack-note"]]
    steps += [["press", "ArrowUp"], ["text", ".trace-stack .told"], ["press", "ArrowUp"]]
    steps += [["text", ".trace-stack .told"], ["press", "ArrowDown"], ["text", ".trace-stack .told"]]
    answers = use(packages, page, steps)
    assert answers[1].startswith("Events 8 to 12: ")
    assert all(text.isdigit() and 7 <= int(text) <= 13 for text in answers[2])
    assert answers[5].startswith("Events 0 to 21: ")
    assert not answers[7].startswith("Events 0 to 21: ")
    assert " at 0x" in answers[9]
    assert answers[11] != answers[9]
    assert answers[13] == answers[9]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (">20MiB", 2),
        ("> 20 MiB", 2),
        ("24MiB", 1),
        ("<=0.25mib", 3),
        ("train.py", 9),
        ("train.py >20MiB", 2),
        ("TRAIN.PY:22", 7),
        ("main capture_begin", 2),
        ("no_such_function", 0),
        ("fixture", 1),
    ],
)
def test_tensors_are_found_by_name_line_stack_phase_and_size(
    product: Product, packages: Path, text: str, found: int
) -> None:
    page = write_trace_page(product, str(RECORDED))
    steps: Steps = [["fill", [".stack-search input", text]], ["text", ".stack-search output"]]
    steps += [["count", ".stack-found tbody tr"], ["count", f"{VIEW} .block.faded"], ["count", f"{VIEW} .block"]]
    answers = use(packages, page, steps)
    assert answers[1] == f"{found} of 9 tensors"
    assert answers[2] == found
    assert answers[4] - answers[3] <= found, "what was not found is faded"


def test_what_is_found_is_chosen_from_the_list(product: Product, packages: Path) -> None:
    page = write_trace_page(product, str(RECORDED))
    steps: Steps = [["fill", [".stack-search input", ">1MiB"]], ["click", ".stack-found button"]]
    steps += [["text", ".trace-stack .told"], ["fill", [".stack-search input", ""]]]
    steps += [["text", ".stack-search output"], ["count", f"{VIEW} .faded"]]
    answers = use(packages, page, steps)
    assert answers[2].startswith("30 MiB at 0x"), "the largest comes first"
    assert answers[4] == ""
    assert answers[5] == 0


def test_of_many_the_largest_have_bands_and_the_rest_is_summed_and_said(product: Product, packages: Path) -> None:
    file = product.folder / "long.pickle"
    write_training(file, 40_000)
    page = write_trace_page(product, str(file))
    steps: Steps = [["text", ".stack-note"], ["count", f"{VIEW} .block"], ["boxes", f"{VIEW} path"]]
    steps += [["drag", [VIEW, [0.50, 0.5], [0.52, 0.5]]], ["text", ".stack-note"], ["count", f"{VIEW} .rest"]]
    whole, bands, boxes, _, near, rest = use(packages, page, steps)
    in_sight, own, summed = (int(part.split()[0]) for part in whole.partition(": ")[2].split(", ")[:3])
    assert own == bands <= 1500
    assert in_sight == own + summed
    assert summed > 0
    assert "summed in the crossed band on top" in whole
    assert all(top >= 11 for _, top, _, _ in boxes), "more than 4 GiB lie within the picture too"
    assert int(near.partition(": ")[2].split()[0]) < in_sight
    assert rest == 1


def test_each_event_of_a_long_recording_is_there_once_it_is_near(product: Product, packages: Path) -> None:
    file = product.folder / "long.pickle"
    written = write_training(file, 90_000)
    page = write_trace_page(product, str(file))
    assert page.stat().st_size < 10_000_000
    steps: Steps = [["text", ".stack-note"]]
    for _ in range(3):
        steps += [["drag", [VIEW, [0.50, 0.5], [0.53, 0.5]]]]
    whole, *_, near = use(packages, page, [*steps, ["text", ".stack-note"]])
    assert whole.startswith(f"Events 0 to {written}") and "the fullest of those between" in whole
    begin, end = (int(word) for word in near.split(":")[0].removeprefix("Events ").split(" to "))
    assert 4 <= end - begin < 100
    assert "the fullest" not in near, "every one of them is drawn"


def test_what_a_snapshot_says_stays_text_where_it_is_told(product: Product, packages: Path) -> None:
    snapshot = pickle.loads(RECORDED.read_bytes())
    for frame in (frame for entry in snapshot["device_traces"][0] for frame in entry.get("frames", [])):
        frame["name"] = frame["filename"] = HOSTILE
    file = product.folder / "hostile.pickle"
    file.write_bytes(pickle.dumps(snapshot))
    page = write_trace_page(product, str(file))
    steps: Steps = [["fill", [".stack-search input", "<script>"]], ["click", ".stack-found button"]]
    steps += [["texts", ".stack-whole li"], ["count", ".stack-found img, .stack-whole img, .stack-found script"]]
    answers = use(packages, page, steps)
    assert any("<script>alert('x')</script>" in frame for frame in answers[2])
    assert answers[3] == 0


def _with_a_leak(steps: int, size: int, big: int) -> dict[str, Any]:
    """Each step makes `big` bytes that it frees, and `size` bytes that it keeps; there were weights before."""
    frames = {
        name: [{"filename": "/home/me/train.py", "line": line, "name": name}]
        for line, name in ((5, "step"), (9, "keep"))
    }
    kept, passing, weights = 0x10_0000_0000, 0x20_0000_0000, 0x30_0000_0000

    def entry(action: str, address: int, number: int, where: str) -> dict[str, Any]:
        return {"action": action, "addr": address, "size": number, "stream": 0, "frames": frames[where]}

    def segment(address: int, number: int, blocks: list[dict[str, Any]]) -> dict[str, Any]:
        used = sum(block["size"] for block in blocks if block["state"] == "active_allocated")
        sizes = {"total_size": number, "allocated_size": used, "active_size": used, "requested_size": used}
        return {"device": 0, "address": address, "stream": 0, "segment_type": "large", "blocks": blocks, **sizes}

    def block(address: int, number: int, where: str, state: str = "active_allocated") -> dict[str, Any]:
        return {"address": address, "size": number, "requested_size": number, "state": state, "frames": frames[where]}

    trace = []
    for step in range(steps):
        trace.append(entry("alloc", passing, big, "step"))
        trace.append(entry("alloc", kept + step * size, size, "keep"))
        trace += [entry(action, passing, big, "step") for action in ("free_requested", "free_completed")]
    return {
        "segments": [
            segment(kept, steps * size, [block(kept + step * size, size, "keep") for step in range(steps)]),
            segment(passing, big, [block(passing, big, "step", "inactive")]),
            segment(weights, 200 << 20, [block(weights, 200 << 20, "step")]),
        ],
        "device_traces": [trace],
    }


def test_what_piles_up_is_a_band_of_its_own_however_small_its_tensors(product: Product, packages: Path) -> None:
    file = product.folder / "leak.pickle"
    file.write_bytes(pickle.dumps(_with_a_leak(100, 2 << 20, 4 << 30)))
    page = write_trace_page(product, str(file))
    steps: Steps = [["text", ".stack-note"], ["count", f"{VIEW} path[data-pile]"], ["count", f"{VIEW} path.pile"]]
    note, filled, outlined = use(packages, page, steps)
    assert "never freed, 100 tensors of train.py:9" in note, note
    assert "200 MiB at the end" in note, note
    assert (filled, outlined) == (1, 1)


def test_nothing_piles_up_where_all_that_a_step_makes_is_freed(product: Product, packages: Path) -> None:
    file = product.folder / "steady.pickle"
    write_training(file, 40_000)
    page = write_trace_page(product, str(file))
    steps: Steps = [["count", f"{VIEW} path.pile"], ["text", ".stack-note"]]
    outlined, note = use(packages, page, steps)
    assert outlined == 0 and "piles up" not in note
