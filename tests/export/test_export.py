"""What vramfit export writes, read by the programs it is for."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import pytest
from product import ROOT, Finished, Product

sys.path.insert(0, str(ROOT))
sys.path.insert(0, str(ROOT / "tests" / "report"))
from stored_runs import write_history

from tools.suite import node_packages

MIB = 1 << 20
SNAPSHOT = ROOT / "fixtures" / "snapshots" / "torch-2.12.1.pickle"


@pytest.fixture
def history(product: Product) -> Product:
    file = product.folder / "history.json"
    write_history(file, "train.py:12 in main")
    assert product.call("runs", "--import", str(file)).exit_code == 0
    return product


def export(product: Product, *words: str) -> Finished:
    finished = product.call("export", *words)
    assert finished.exit_code == 0, finished
    return finished


def record(product: Product) -> Path:
    """Five looks of vramfit watch at this machine."""
    file = product.folder / "watch.vfw"
    words = ["watch", "--headless", "--record", str(file), "--interval", "20ms", "--count", "5"]
    assert product.call(*words).exit_code == 0
    return file


def test_a_trace_has_counters_slices_and_instants(history: Product) -> None:
    events = json.loads(export(history, "2", "--to", "perfetto", "-o", "-").stdout)["traceEvents"]
    counters = [event for event in events if event["ph"] == "C"]
    assert {event["name"] for event in counters} == {"allocated", "reserved"}
    assert max(event["args"]["bytes"] for event in counters if event["name"] == "allocated") == 2800 * MIB
    slices = [event for event in events if event["ph"] == "X"]
    assert [event["name"] for event in slices] == ["load", "train"]
    assert slices[0]["dur"] == pytest.approx(1e6)
    instants = {event["cat"]: event["name"] for event in events if event["ph"] == "i"}
    assert instants == {"mark": "train.py:12 in main", "oom": "out of memory: tried 64 MiB"}
    for event in events:
        assert isinstance(event["pid"], int)
        assert event["ph"] == "M" or event["ts"] >= 0


@pytest.mark.parametrize("what", ["1", str(SNAPSHOT)])
def test_speedscope_files_follow_its_schema(history: Product, what: str) -> None:
    import jsonschema

    schema = json.loads(
        (
            node_packages.folder() / "node_modules" / "speedscope" / "dist" / "release" / "file-format-schema.json"
        ).read_text()
    )
    export(history, what, "-o", "peak.speedscope.json")
    file = json.loads((history.folder / "peak.speedscope.json").read_text())
    jsonschema.validate(file, schema)
    assert file["profiles"]
    for profile in file["profiles"]:
        assert sum(profile["weights"]) == profile["endValue"] > 0
        assert len(profile["weights"]) == len(profile["samples"])
        assert all(index < len(file["shared"]["frames"]) for stack in profile["samples"] for index in stack)


def test_a_snapshots_peak_is_told_by_stack(history: Product) -> None:
    file = json.loads(export(history, str(SNAPSHOT), "--to", "speedscope", "-o", "-").stdout)
    names = [frame["name"] for frame in file["shared"]["frames"]]
    assert names[file["profiles"][0]["samples"][0][0]] == "<module>", "outermost first"
    events = json.loads(export(history, str(SNAPSHOT), "--to", "chrome", "-o", "-").stdout)["traceEvents"]
    allocated = [event["args"]["bytes"] for event in events if event["ph"] == "C" and event["name"] == "allocated"]
    assert file["profiles"][0]["endValue"] == max(allocated)


def test_tensorboard_reads_its_scalars(history: Product) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    export(history, "1", "2", "--to", "tensorboard", "-o", "logs")
    for run in ("run-1", "run-2"):
        events = EventAccumulator(str(history.folder / "logs" / run))
        events.Reload()
        assert events.Tags()["scalars"] == ["card 0/allocated (MiB)", "card 0/reserved (MiB)"]
        scalars = events.Scalars("card 0/allocated (MiB)")
        assert len(scalars) == 60
        assert max(scalar.value for scalar in scalars) == 2800
        assert [scalar.step for scalar in scalars] == [50 * i for i in range(60)]
        assert scalars[1].wall_time - scalars[0].wall_time == pytest.approx(0.05, abs=1e-3)


def test_a_damaged_event_is_found_by_its_checksum(history: Product) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    export(history, "1", "--to", "tensorboard", "-o", "logs")
    file = next((history.folder / "logs").iterdir())
    bytes_ = bytearray(file.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    file.write_bytes(bytes_)
    events = EventAccumulator(str(history.folder / "logs"))
    events.Reload()
    assert len(events.Scalars("card 0/allocated (MiB)")) < 60 or not events.Tags()["scalars"][1:]


def test_csv_has_every_point(history: Product) -> None:
    rows = list(csv.DictReader(io.StringIO(export(history, "1", "--to", "csv", "-o", "-").stdout)))
    assert len(rows) == 60
    assert rows[0]["phase"] == "load"
    assert rows[30]["phase"] == "train"
    assert rows[30]["mark"] == "train.py:12 in main"
    assert {row["device_bytes"] for row in rows} == {""}, "not known is not 0"
    assert max(int(row["allocated_bytes"]) for row in rows) == 2800 * MIB


@pytest.mark.parametrize("words", [["1"], ["1", "2", "3"], [str(SNAPSHOT)]])
def test_charts_are_svg_that_stands_alone_and_png(history: Product, words: list[str]) -> None:
    from PIL import Image

    export(history, *words, "-o", "chart.svg")
    text = (history.folder / "chart.svg").read_text()
    root = xml.etree.ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in text
    assert "href" not in text
    export(history, *words, "-o", "chart.png")
    picture = Image.open(history.folder / "chart.png")
    picture.load()
    assert picture.format == "PNG"
    assert picture.size == (2 * int(root.attrib["width"]), 2 * int(root.attrib["height"]))
    assert len(picture.convert("RGB").getcolors(1 << 20) or []) > 5, "something is drawn"


def test_hostile_texts_stay_text(product: Product) -> None:
    hostile = "</text><script>alert(1)</script>\u0000\u202e,\"=cmd|' /C calc'!A0\n"
    file = product.folder / "history.json"
    write_history(file, hostile)
    assert product.call("runs", "--import", str(file)).exit_code == 0
    for name in ("run.json", "run.speedscope.json", "run.csv", "run.svg"):
        export(product, "2", "-o", name)
    json.loads((product.folder / "run.json").read_text())
    json.loads((product.folder / "run.speedscope.json").read_text())
    assert "<script>" not in (product.folder / "run.svg").read_text()
    xml.etree.ElementTree.fromstring((product.folder / "run.svg").read_text())
    rows = list(csv.reader(io.StringIO((product.folder / "run.csv").read_text())))
    assert {len(row) for row in rows} == {8}


def test_where_a_run_knew_nothing_of_the_card_its_line_has_a_gap(product: Product) -> None:
    file = product.folder / "history.json"
    write_history(file)
    exported = json.loads(file.read_text())
    result = json.loads(exported["runs"][0]["result"])
    for place, point in enumerate(result["timeline"]):
        point["used_bytes"] = None if 20 <= place < 30 else point["reserved_bytes"] + 120 * MIB
    exported["runs"][0]["result"] = json.dumps(result)
    file.write_text(json.dumps(exported))
    assert product.call("runs", "--import", str(file)).exit_code == 0
    svg = export(product, "1", "--to", "svg", "-o", "-").stdout
    line = re.findall(r'<path class="used" d="([^"]*)"', svg)[-1]
    assert line.count("M") == 2
    rows = list(csv.DictReader(io.StringIO(export(product, "1", "--to", "csv", "-o", "-").stdout)))
    assert [place for place, row in enumerate(rows) if row["device_bytes"] == ""] == list(range(20, 30))


def test_points_are_thinned_to_what_was_asked_for(history: Product) -> None:
    rows = export(history, "1", "--to", "csv", "--points", "10", "-o", "-").stdout.splitlines()
    assert len(rows) < 25
    assert any(str(2800 * MIB) in row for row in rows), "no peak is lost"


def test_a_recording_of_watch_is_told_from_a_snapshot(product: Product) -> None:
    file = record(product)
    events = json.loads(export(product, str(file), "--to", "perfetto", "-o", "-").stdout)["traceEvents"]
    assert {event["name"] for event in events if event["ph"] == "C"} <= {"device", "allocated", "reserved"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["77", "-o", "x.csv"], "no run 77"),
        (["1", "-o", "x.pdf"], "which format"),
        (["1", "--to", "pdf", "-o", "x"], "not a format"),
        (["nothing.pickle", "-o", "x.csv"], "nothing.pickle"),
        (["history.json", "-o", "x.csv"], "history.json"),
        (["1", "--to", "tensorboard", "-o", "-"], "folder"),
        (["1", "-o", "no/such/folder/x.csv"], "no/such/folder"),
    ],
)
def test_what_cannot_be_exported_is_said_and_nothing_is_written(history: Product, words: list[str], says: str) -> None:
    finished: Any = history.call("export", *words)
    assert finished.exit_code == 2, finished
    assert says in finished.stderr
    assert not (history.folder / "x.csv").exists()
