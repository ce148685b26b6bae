"""What nothing measured is null in JSON and "-" or "unknown" in pages, never 0; who was interrupted did not fail."""

from __future__ import annotations

import json
import signal
import subprocess
from typing import Any

from product import VRAMFIT, Product, wait_for

WAITS = """
import pathlib, time
pathlib.Path("begun").touch()
time.sleep(600)
"""
FIGURES = ("context_bytes", "library_bytes", "peak_allocated_bytes", "peak_reserved_bytes", "peak_device_bytes")


def interrupt(product: Product) -> dict[str, Any]:
    """The JSON of a run that was ended before it came to the card."""
    words = product.run_words(product.script(WAITS), options=("--files", "shared"))
    child = subprocess.Popen(
        [str(VRAMFIT), *words], cwd=product.folder, env=product.environment(), stderr=subprocess.PIPE, text=True
    )
    wait_for((product.folder / "begun").exists, 60)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert "interrupted: " in said and "failed" not in said, said
    return json.loads((product.folder / "result.json").read_text())


def test_a_run_that_was_interrupted_before_the_card_tells_no_figures_of_it(product: Product) -> None:
    result = interrupt(product)
    assert result["interrupted"]
    assert [result["devices"][0][name] for name in FIGURES] == [None] * 5
    assert result["devices"][0]["total_bytes"] > 2**33
    (run,) = json.loads(product.call("runs", "--json", "-").stdout)["runs"]
    assert run["verdict"] == "interrupted"
    assert [run["devices"][0][name] for name in FIGURES] == [None] * 5
    shown = product.call("show", "1").stdout
    assert "interrupted" in shown and " 0 B" not in shown, shown
    report = product.folder / "report.html"
    assert product.call("report", "1", "-o", str(report)).exit_code == 0
    cards = report.read_text().split("<caption>Peaks of each card")[1].split("</table>")[0]
    assert cards.count("unknown") == 5 and "0 B" not in cards, cards
    assert product.call("export", "1", "-o", "trace.json").exit_code in (0, 2)


def test_what_was_measured_to_be_nothing_stays_0(product: Product) -> None:
    """Two cards, of which the job uses one."""
    done = product.run("import torch\ntorch.zeros(1000, device='cuda:0')\n", gpu="2xrtx3060")
    used, unused = done.result["devices"]
    assert used["peak_device_bytes"] > 0 and unused["peak_device_bytes"] == 0, str(done)
    (run,) = json.loads(product.call("runs", "--json", "-").stdout)["runs"]
    assert run["devices"][1]["peak_device_bytes"] == 0


def test_runs_of_exported_files_of_before_are_unknown_too(product: Product) -> None:
    interrupt(product)
    file = product.folder / "old.json"
    assert product.call("runs", "--export", str(file)).exit_code == 0
    old = json.loads(file.read_text())
    for card in old["runs"][0]["devices"]:
        card.update(dict.fromkeys(FIGURES, 0))
    file.write_text(json.dumps(old))
    elsewhere = {"VRAMFIT_STORE": str(product.folder / "other.db")}
    assert product.call("runs", "--import", str(file), **elsewhere).exit_code == 0
    (run,) = json.loads(product.call("runs", "--json", "-", **elsewhere).stdout)["runs"]
    assert [run["devices"][0][name] for name in FIGURES] == [None] * 5


def test_a_recording_of_a_watch_has_no_figures_of_an_allocator(product: Product) -> None:
    recording = product.folder / "night.vfw"
    child = subprocess.Popen(
        [str(VRAMFIT), "watch", "--record", str(recording), "--json", "lines.json"],
        cwd=product.folder,
        env=product.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    words = product.run_words(product.script("import torch, time\ntorch.zeros(1000, device='cuda')\ntime.sleep(2)\n"))
    subprocess.run([str(VRAMFIT), *words], cwd=product.folder, env=product.environment(), check=True)
    child.send_signal(signal.SIGINT)
    child.wait(30)
    runs = json.loads(product.call("runs", "--verb", "watch", "--json", "-").stdout)["runs"]
    watched = next(card for card in runs[0]["devices"] if "3060" in card["name"])
    assert watched["peak_device_bytes"] > 0
    assert [watched[name] for name in FIGURES[:4]] == [None] * 4


def test_ctrl_c_while_the_interpreter_is_looked_at_is_an_interruption(product: Product) -> None:
    slow = product.folder / "python"
    slow.write_text("#!/bin/sh\ntouch asked\nexec sleep 100\n")
    (product.folder / "train.py").write_text("")
    slow.chmod(0o755)
    words = ["run", "--gpu", "t4", "--", str(slow), "train.py"]
    child = subprocess.Popen(
        [str(VRAMFIT), *words], cwd=product.folder, env=product.environment(), stderr=subprocess.PIPE, text=True
    )
    wait_for((product.folder / "asked").exists, 60)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert "no working Python" not in said and "interrupted" in said, said
