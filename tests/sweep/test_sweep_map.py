"""The map of a sweep that was really run, on the page and as a picture: what fits, what does not, and the border."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest
from product import ROOT, Product
from warm_python import SharedPython

sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests" / "report"))
from chromium import SIZES, check_is_whole, drive

from tools.suite import node_packages

# 1 GiB for each unit of batch times width, on a card of 12 GiB.
TRAINS = """
    import sys, torch
    batch, width = (int(sys.argv[sys.argv.index(name) + 1]) for name in ("--batch-size", "--width"))
    x = torch.zeros(batch, width, 2**30, dtype=torch.uint8, device="cuda")
"""


@pytest.fixture(scope="module")
def packages() -> Path:
    return node_packages.folder()


def sweep(product: Product, *options: str) -> dict:
    script = product.script(TRAINS)
    words = ["sweep", "--gpu", "rtx3060", "--json", "sweep.json", *options, "--", sys.executable, str(script)]
    done = product.call(*words, "--batch-size", "1", "--width", "1", timeout=400)
    assert done.exit_code == 0, done
    return json.loads((product.folder / "sweep.json").read_text())


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory, shared_python: SharedPython) -> Product:
    """Run 1 is the sweep, 2 to 7 are its trials."""
    product = Product(tmp_path_factory.mktemp("matrix"), shared_python.path)
    trials = sweep(product, "--vary", "batch=1,4", "--vary", "--width=1,2,4", "-j", "2")["trials"]
    assert [trial["verdict"] for trial in trials] == ["fits"] * 5 + ["out_of_memory"]
    assert all(trial["run_uuid"] for trial in trials)
    return product


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory, shared_python: SharedPython) -> Product:
    product = Product(tmp_path_factory.mktemp("search"), shared_python.path)
    (largest,) = sweep(product, "--find-max", "batch=1..16", "-j", "1")["largest"]
    assert (largest["fits"], largest["too_large"]) == (11, 12)
    return product


def write_page(product: Product, *words: str) -> Path:
    page = product.folder / "report.html"
    written = product.call("report", *words, "-o", str(page))
    assert written.exit_code == 0, written
    return page


@pytest.mark.parametrize(("scheme", "width"), SIZES)
def test_a_map_is_whole_accessible_and_quiet(matrix: Product, packages: Path, scheme: str, width: int) -> None:
    check_is_whole(drive(packages, write_page(matrix, "1"), scheme, width))


@pytest.mark.parametrize(("scheme", "width"), SIZES)
def test_a_search_is_whole_accessible_and_quiet(search: Product, packages: Path, scheme: str, width: int) -> None:
    seen = drive(packages, write_page(search, "1"), scheme, width)
    check_is_whole(seen)
    assert "11 fits, 12 does not" in seen["text"], "beside the border"
    assert "batch 11 fits, 12 does not; both were run" in seen["text"]


def test_every_trial_is_told_with_verdict_peak_and_run(matrix: Product, packages: Path) -> None:
    seen = drive(packages, write_page(matrix, "1"))
    rows = [line.split("\t") for line in seen["text"].splitlines() if line.count("\t") >= 6]
    trials = {(row[0], row[1]): row for row in rows if row[0].isdigit()}
    assert len(trials) == 6
    stored = json.loads(matrix.call("runs", "--of", "1", "--json", "-").stdout)["runs"]
    peaks = {str(run["number"]): run["devices"][0]["peak_device_bytes"] for run in stored}
    assert {row[6] for row in trials.values()} == peaks.keys()
    for (batch, width), row in trials.items():
        gib = int(batch) * int(width)
        assert row[2] == ("fits" if gib < 12 else "out of memory")
        number = float(row[3].removeprefix("over ").removesuffix(" GiB").removesuffix(" MiB"))
        told = number * (2**30 if row[3].endswith("GiB") else 2**20)
        assert told == pytest.approx(peaks[row[6]], rel=0.01)
    assert trials["4", "4"][3].startswith("over ")


def test_the_border_lies_where_the_trials_have_it(matrix: Product) -> None:
    exported = matrix.call("export", "1", "-o", "map.svg")
    assert exported.exit_code == 0, exported
    root = xml.etree.ElementTree.parse(matrix.folder / "map.svg").getroot()
    name = "{http://www.w3.org/2000/svg}"
    cells = [cell for cell in root.iter(name + "rect") if cell.get("class", "").startswith(("heat", "unheated"))]
    cells = [cell for cell in cells if cell.find(name + "title") is not None]
    assert len(cells) == 6
    (over,) = (cell for cell in cells if cell.get("class") == "unheated")
    assert "out of memory" in over.find(name + "title").text
    left, top = int(over.get("x")) - 1, int(over.get("y")) - 1
    pieces = {path.get("d") for path in root.iter(name + "path") if path.get("class") == "border"} - {"M2 8h28"}
    assert len(pieces) == 2, "to the left of the last cell and above it"
    assert all(piece.startswith(f"M{left} {top}") for piece in pieces)


def test_a_map_is_a_picture_too(matrix: Product, search: Product) -> None:
    from PIL import Image

    for product in (matrix, search):
        exported = product.call("export", "1", "-o", "map.png")
        assert exported.exit_code == 0, exported
        picture = Image.open(product.folder / "map.png")
        picture.load()
        assert picture.format == "PNG"
        assert len(picture.convert("RGB").getcolors(1 << 20) or []) > 8, "something is drawn"


def test_a_sweep_taken_up_again_knows_the_runs_of_before(matrix: Product, packages: Path) -> None:
    trials = sweep(matrix, "--vary", "batch=1,4", "--vary", "--width=1,2,4")["trials"]
    newest = json.loads(matrix.call("runs", "--json", "-").stdout)["runs"][0]["number"]
    assert newest == 8, "its trials were not run again"
    assert all(trial["run_uuid"] for trial in trials)
    seen = drive(packages, write_page(matrix, "8", "2"))
    check_is_whole(seen)
    assert 'href="#run-2">2</a>' in (matrix.folder / "report.html").read_text(), "a trial on the same page"
    assert "not kept" not in seen["text"]


def test_a_sweep_from_elsewhere_names_runs_by_their_numbers_here(matrix: Product, product: Product) -> None:
    exported = str(product.folder / "runs.json")
    assert matrix.call("runs", "--export", exported).exit_code == 0
    other = product.script("import torch\ntorch.zeros(1, device='cuda')\n")
    assert product.call("run", "--gpu", "rtx3060", "--", sys.executable, str(other)).exit_code == 0
    assert product.call("runs", "--import", exported).exit_code == 0
    shown = product.call("show", "2")
    for told in ("batch=4 --width=4: out_of_memory", "OOM", "5 of 6 trials fit"):
        assert told in shown.stdout, shown
    text = write_page(product, "2").read_text()
    for number in range(3, 9):
        assert f">run {number}<" in text


def test_a_confidential_map_tells_no_command_or_folder(matrix: Product) -> None:
    text = write_page(matrix, "1", "--confidential").read_text()
    assert "train.py" not in text
    assert str(matrix.folder) not in text
    assert "5 of 6 trials fit" in text
