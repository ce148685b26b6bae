"""`vramfit report` in a real Chromium: no request, no error, accessible, usable by keyboard, and nothing gets out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from chromium import SIZES, ask, check_is_whole, drive
from product import Product
from stored_runs import HOSTILE, write_history


def write_page(product: Product, *words: str, text: str = "train.py:12 in main") -> Path:
    history = product.folder / "history.json"
    write_history(history, text)
    taken = product.call("runs", "--import", str(history))
    assert taken.exit_code == 0, taken
    page = product.folder / "report.html"
    written = product.call("report", *words, "-o", str(page))
    assert written.exit_code == 0, written
    return page


@pytest.mark.parametrize(("scheme", "width"), SIZES)
def test_a_page_of_three_runs_is_whole_accessible_and_quiet(
    product: Product, packages: Path, scheme: str, width: int
) -> None:
    check_is_whole(drive(packages, write_page(product, "1", "2", "3"), scheme, width))


def test_the_keyboard_reaches_and_moves_everything(product: Product, packages: Path) -> None:
    seen = drive(packages, write_page(product, "1"))
    tags = [element["tag"] for element in seen["reached"]]
    assert {"INPUT", "SUMMARY", "DIV"} <= set(tags)
    assert all(element["outlined"] for element in seen["reached"]), "focus is seen"
    assert seen["moved"]["before"] == "0.000 s, load: 0 B allocated, 0 B reserved"
    assert seen["moved"]["after"] == "0.050 s, load: 10 MiB allocated, 20 MiB reserved"
    assert seen["moved"]["last"] == "2.950 s, train: 2.73 GiB allocated, 3.91 GiB reserved"
    assert seen["moved"]["place"] == pytest.approx(940)
    assert seen["pointed"].startswith("0.")
    assert seen["opened"] is True


def test_what_a_script_says_stays_text(product: Product, packages: Path) -> None:
    seen = drive(packages, write_page(product, "1", "2", "3", text=HOSTILE))
    assert seen["dialogs"] == []
    assert seen["requests"] == []
    assert seen["said"] == []
    assert seen["violations"] == []
    assert "<script>alert('x')</script>" in seen["text"], "shown as what it is"


def test_the_verdict_comes_first_and_plans_are_ranked(product: Product, packages: Path) -> None:
    text = drive(packages, write_page(product, "3"))["text"]
    verdict = text.index("[✓] bf16 autocast fits NVIDIA Test Card")
    assert verdict < text.index("Plans") < text.index("Peak against time") < text.index("Memory over time")
    assert text.index("bf16 autocast", verdict + 30) < text.index("micro-batch 2 x 4") < text.index("checkpoint 2")


def test_several_runs_are_set_side_by_side(product: Product, packages: Path) -> None:
    text = drive(packages, write_page(product, "1", "2"))["text"]
    side_by_side = text[text.index("Side by side") : text.index("Run 1: run")]
    assert "out_of_memory" in side_by_side
    assert "What held the peak, run by run" in side_by_side
    rows = [line.split("\t") for line in side_by_side.splitlines()]
    assert [" weights", "900 MiB", "900 MiB"] in rows or ["weights", "900 MiB", "900 MiB"] in rows


@pytest.mark.parametrize(("scheme", "width"), SIZES)
def test_a_diagnosis_is_told_with_evidence_and_cures(product: Product, packages: Path, scheme: str, width: int) -> None:
    log = product.folder / "train.log"
    log.write_text(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 600.00 GiB. GPU 0 has a total capacity of "
        "11.76 GiB of which 11.00 GiB is free. Of the allocated memory 100.00 MiB is allocated by PyTorch, and "
        "10.00 MiB is reserved by PyTorch but unallocated.\n"
    )
    told = product.call("doctor", str(log), "--json", "doctor.json")
    assert told.exit_code == 1, told
    first = json.loads((product.folder / "doctor.json").read_text())["findings"][0]
    page = product.folder / "report.html"
    assert product.call("report", "1", "-o", str(page)).exit_code == 0
    seen = drive(packages, page, scheme, width)
    check_is_whole(seen)
    text = seen["text"]
    assert f"{first['code']}: {first['title']}" in text
    for item in first["evidence"]:
        assert item["reasoning"] in text
    for fix in first["fixes"]:
        assert fix["what"] in text
    assert "Checked" in text


def test_a_confidential_page_has_no_source_path_command_or_host(product: Product, packages: Path) -> None:
    secret = "/data/somebody/secret_project/train.py:12"
    open_page = write_page(product, "1", "2", "3", text=secret).read_text()
    assert "secret_project" in open_page
    page = product.folder / "shared.html"
    written = product.call("report", "1", "2", "3", "--confidential", "-o", str(page))
    assert written.exit_code == 0, written
    assert "secret_project" not in page.read_text()
    assert "train.py" not in page.read_text()
    seen = drive(packages, page)
    assert "were left out" in seen["text"]
    assert seen["violations"] == []


def test_a_run_that_is_not_there_is_an_error_and_writes_nothing(product: Product) -> None:
    finished = product.call("report", "77", "-o", "none.html")
    assert finished.exit_code == 2
    assert "77" in finished.stderr
    assert not (product.folder / "none.html").exists()


def test_several_runs_lie_over_each_other_in_one_chart(product: Product, packages: Path) -> None:
    page = write_page(product, "1", "2", "3")
    view = "figure.overlay .view"
    steps = [
        ["count", f"{view} path.run-line"],
        ["texts", "figure.overlay select option"],
        ["texts", f"{view} text.end"],
    ]
    steps += [["point_at", [view, [0.9, 0.5]]], ["text", "figure.overlay .told"], ["sideways"]]
    seen = ask(packages, "drive_charts.mjs", {"page": str(page), "width": 390, "steps": steps})
    assert seen["said"] == []
    lines, measures, sizes, _, told, sideways = seen["answers"]
    assert lines == 3
    assert measures == ["reserved by PyTorch", "allocated: tensors"], "nothing told of the whole card"
    assert {"0 B", "1 GiB", "4 GiB"} <= set(sizes)
    assert told.endswith(" s: run 1: 3.91 GiB, run 2: 3.91 GiB, run 3: 3.91 GiB")
    assert sideways <= 0


@pytest.mark.parametrize("width", [390, 500, 800, 1280, 2560])
def test_letters_are_large_enough_and_tables_fit_at_every_width(product: Product, packages: Path, width: int) -> None:
    page = write_page(product, "1", "2", "3")
    steps = [["boxes_that_scroll"], ["smallest_letters"], ["sideways"]]
    seen = ask(packages, "drive_charts.mjs", {"page": str(page), "width": width, "steps": steps})
    boxes, letters, sideways = seen["answers"]
    assert letters >= 11
    assert sideways <= 0
    # Sizes do not break: of a table of numbers alone a few letters may stand out on a telephone.
    assert [box for box in boxes if box[1] > 48] == []


def test_words_that_name_rows_are_whole_on_a_telephone(product: Product, packages: Path) -> None:
    page = write_page(product, "1", "2", "3")
    steps = [["count", "th[scope=row]"], ["broken_words", "th[scope=row]"]]
    seen = ask(packages, "drive_charts.mjs", {"page": str(page), "width": 390, "steps": steps})
    assert seen["answers"][0] > 10
    assert seen["answers"][1] == []


@pytest.mark.parametrize("width", [390, 1280])
def test_a_wide_table_is_a_table_to_a_reader_of_screens_at_every_width(
    product: Product, packages: Path, width: int
) -> None:
    page = write_page(product, "3")
    steps = [["count", "table.wide [role=row] [role=columnheader]"], ["count", "table.wide [role=cell]"]]
    steps += [["attributes", ["table.wide tbody tr:first-child > *", "data-heading"]]]
    seen = ask(packages, "drive_charts.mjs", {"page": str(page), "width": width, "steps": steps})
    headings, cells, told = seen["answers"]
    assert headings > 5 and cells > 5 and all(told)


@pytest.mark.parametrize(("width", "slim"), [(390, 1), (800, 0), (1280, 0), (2560, 0)])
def test_a_timeline_is_legible_on_a_telephone_and_reads_out_there_too(
    product: Product, packages: Path, width: int, slim: int
) -> None:
    page = write_page(product, "1")
    chart = f"figure.timeline svg.chart{'.slim' if slim else ':not(.slim)'}"
    steps = [["count", "figure.timeline svg.chart.slim:visible"], ["count", "figure.timeline svg.chart:visible"]]
    steps += [["point_at", [chart, [0.9, 0.5]]], ["text", "figure.timeline output"], ["scales", f"{chart} text"]]
    steps += [["sideways"]]
    seen = ask(packages, "drive_charts.mjs", {"page": str(page), "width": width, "steps": steps})
    assert seen["said"] == []
    slim_ones, all_ones, _, told, scales, sideways = seen["answers"]
    assert (slim_ones, all_ones) == (slim, 1)
    assert told.startswith("2."), told
    assert min(scales) >= 0.75, "letters are not much smaller than elsewhere"
    assert sideways <= 0
