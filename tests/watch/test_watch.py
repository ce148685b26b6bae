"""What is read, and that everything that breaks is told, survived and recovered from."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from machine import GIB, Machine
from product import VRAMFIT, Product, wait_for


def test_a_busy_card_is_shown_with_everything_it_tells(machine: Machine, own_pid: int) -> None:
    machine.script(
        "0 utilization 97",
        "0 temperature 81",
        "0 power 341500",
        "0 throttle 36",
        "0 ecc_corrected 3",
        "0 ecc_uncorrected 0",
        "0 nvlinks 4",
        "0 nvlinks_up 3",
        "0 pcie_generation 4",
        "0 pcie_width 16",
        f"0 process {own_pid} {9 * GIB}",
        f"0 hidden {2 * GIB}",
    )
    result = machine.look()
    card, idle = result["cards"]
    assert card["uuid"].startswith("GPU-") and card["uuid"] != idle["uuid"]
    assert (card["used_bytes"], card["unexplained_bytes"]) == (11 * GIB, 2 * GIB)
    assert (card["gpu_percent"], card["temperature_celsius"], card["power_milliwatts"]) == (97, 81, 341500)
    assert card["throttled_by"] == ["power cap", "heat"]
    assert (card["nvlinks_up"], card["nvlinks"], card["pcie_width"]) == (3, 4, 16)
    assert idle["ecc_corrected"] is None and idle["missing"]["ecc_corrected"] == "not supported"
    (process,) = result["processes"]
    assert process["pid"] == own_pid and "pytest" in process["command"]
    assert process["cards"][0]["used_bytes"] == 9 * GIB
    text = machine.run("--once").stdout
    assert "2.00 GiB used by no process that the driver shows" in text
    assert "clocks held down by power cap, heat" in text
    assert max(len(line) for line in text.splitlines()) <= 80


def test_slices_are_cards_of_their_own(machine: Machine, own_pid: int) -> None:
    machine.script(
        f"1 mig 3g.12gb:{12 * GIB}:{GIB} 2g.6gb:{6 * GIB}:0",
        f"1 process {own_pid} {GIB} 1 0",
    )
    result = machine.look()
    whole, large, small = result["cards"][1:]
    assert whole["mig_mode"] == 1 and whole["gpu_percent"] is None
    assert large["parent"] == small["parent"] == whole["uuid"]
    assert (large["total_bytes"], large["used_bytes"]) == (12 * GIB, GIB)
    assert result["processes"][0]["cards"][0]["card"] == large["uuid"]
    assert "1:0" in machine.run("--once").stdout


def test_no_permission_an_old_driver_and_unknown_memory_are_no_zeros(machine: Machine, own_pid: int) -> None:
    machine.script("0 denied", f"1 process {own_pid} unknown", "1 old")
    denied, old = machine.look()["cards"]
    assert denied["unexplained_bytes"] is None and denied["missing"]["unexplained_bytes"] == "no permission"
    assert old["used_bytes"] is not None and old["reserved_bytes"] is None
    assert machine.look()["processes"][0]["cards"][0]["used_bytes"] is None
    assert "no permission to see its processes" in machine.run("--once").stdout


def test_zombies_and_processes_of_nowhere_are_marked(machine: Machine) -> None:
    with subprocess.Popen([sys.executable, "-c", "pass"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        machine.script(f"0 process {child.pid} {GIB}", f"0 process 999999999 {GIB}")
        states = {process["pid"]: process["state"] for process in machine.look()["processes"]}
        assert states == {child.pid: "zombie", 999999999: "unseen"}
        text = machine.run("--once").stdout
    assert "[zombie]" in text and "[not in our /proc]" in text


def test_ranks_and_jobs_come_from_the_environment(machine: Machine) -> None:
    variables = {**os.environ, "RANK": "3", "WORLD_SIZE": "8", "SLURM_JOB_ID": "4711"}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=variables) as child:
        machine.script(f"0 process {child.pid} {GIB}")
        (process,) = wait_for(lambda: [one for one in machine.look()["processes"] if one["rank"]])
        assert (process["rank"], process["world_size"], process["slurm_job"]) == ("3", "8", "4711")
        child.communicate(b"\n")


def samples(path: Path) -> list[dict[str, Any]]:
    """The samples written so far. The last line may still be on its way: only a line with its end counts."""
    written = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in written.splitlines(keepends=True) if line.endswith("\n")]


def test_a_card_that_falls_off_the_bus_is_kept_and_comes_back(machine: Machine) -> None:
    out = machine.product.folder / "out.jsonl"
    process = machine.start("--headless", "--interval", "50ms", "--json", str(out))
    before = wait_for(lambda: samples(out))[-1]["cards"]
    machine.script("1 lost")
    lost = wait_for(lambda: [one for one in samples(out) if one["cards"][1]["problem"]])[-1]["cards"][1]
    assert lost["uuid"] == before[1]["uuid"] and lost["problem"] == "fell off the bus"
    assert lost["used_bytes"] is None and lost["missing"]["used_bytes"] == "lost"
    machine.script("")
    wait_for(lambda: samples(out)[-1]["cards"][1]["problem"] is None)
    assert samples(out)[-1]["cards"][1]["used_bytes"] is not None
    assert process.poll() is None


@pytest.mark.parametrize("what", ["gone", "mismatch"])
def test_a_driver_that_restarts_is_waited_for(machine: Machine, what: str) -> None:
    out = machine.product.folder / "out.jsonl"
    process = machine.start("--headless", "--interval", "50ms", "--json", str(out))
    wait_for(lambda: samples(out))
    machine.script(f"driver {what}")
    gone = wait_for(lambda: [one for one in samples(out) if not one["driver"]["answers"]])[-1]
    assert gone["driver"]["problem"] and [card["used_bytes"] for card in gone["cards"]] == [None, None]
    machine.script("")
    wait_for(lambda: samples(out)[-1]["driver"]["answers"])
    assert [card["problem"] for card in samples(out)[-1]["cards"]] == [None, None]
    assert process.poll() is None


def test_no_driver_is_said_and_is_an_exit_code(product: Product) -> None:
    if Path("/dev/nvidiactl").exists():
        pytest.skip("this machine has a driver")
    done = product.call("watch", "--once", "--no-virtual")
    assert done.exit_code == 1
    assert "no NVIDIA driver" in done.stdout


def test_one_look_at_chosen_cards_answers_for_them_alone(machine: Machine, own_pid: int) -> None:
    machine.script("0 lost", f"1 process {own_pid} {GIB}")
    one = machine.run("--once", "--card", "1")
    assert one.returncode == 0, one.stderr
    assert "1024 MiB of" in one.stdout and "fell off the bus" not in one.stdout
    both = machine.run("--once", "--card", "1,0")
    assert both.returncode == 1
    assert "1024 MiB of" in both.stdout and "fell off the bus" in both.stdout
    absent = machine.run("--once", "--card", "1,7")
    assert absent.returncode == 1
    assert "there is no card 7: the cards are 0, 1" in absent.stdout


def test_the_help_tells_what_each_mark_means(machine: Machine) -> None:
    told = machine.run("--help").stdout
    for mark in (
        "█ ░",
        "·",
        "•",
        "!",
        "2:0",
        "v0",
        "P2",
        "RANK 0/2",
        "SM",
        "[zombie]",
        "[gone]",
        "[not in our /proc]",
        "…",
    ):
        assert re.search(rf"^  .*{re.escape(mark)}", told[told.index("on screen:") :], re.MULTILINE), mark
    plain = machine.run("--help", LANG="C", LC_ALL="C").stdout
    assert "  # . " in plain and "  ? " in plain and plain.isascii()


def test_alerts_run_a_command_once_and_again_after_a_break(machine: Machine, own_pid: int) -> None:
    told = machine.product.folder / "told"
    command = f'echo "$VRAMFIT_ALERT_NAME $VRAMFIT_ALERT" >> {told}'
    out = machine.product.folder / "out.jsonl"
    rule = ("--alert", "mem>50% for 100ms", "--exec", command)
    machine.start("--headless", "--interval", "50ms", "--json", str(out), *rule)
    machine.script(f"1 process {own_pid} {20 * GIB}")
    wait_for(told.exists)
    machine.script("")
    wait_for(lambda: samples(out)[-1]["cards"][1]["used_bytes"] == 0)
    machine.script(f"1 process {own_pid} {20 * GIB}")
    wait_for(lambda: len(told.read_text().splitlines()) == 2)
    assert set(told.read_text().splitlines()) == {"GPU 1 mem>50% for 100ms"}
    assert "alert: GPU 1: mem is" in machine.errors


def test_a_rule_that_makes_no_sense_is_refused(machine: Machine) -> None:
    for words in (("--alert", "mem>90"), ("--interval", "1ms"), ("--prometheus", "nowhere:x"), ("--sort", "beauty")):
        assert machine.run("--once", *words).returncode == 2, words


def test_csv_has_a_row_for_each_card_and_process(machine: Machine, own_pid: int) -> None:
    machine.script(f"0 process {own_pid} {GIB}")
    done = machine.run("--csv", "-", "--count", "3", "--interval", "20ms")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["what"] for row in rows] == ["card", "card", "process"] * 3
    assert rows[2]["process_used_bytes"] == str(GIB) and rows[2]["used_bytes"] == ""
    assert rows[0]["ecc_corrected"] == ""


def test_a_recording_survives_kill_9_and_is_continued(machine: Machine) -> None:
    record = machine.product.folder / "record"
    words = ("--headless", "--interval", "10ms", "--record", str(record))
    for _ in range(2):
        size = record.stat().st_size if record.exists() else 0
        process = machine.start(*words)
        wait_for(lambda size=size: record.exists() and record.stat().st_size > size + 2000)
        process.send_signal(signal.SIGKILL)
        process.wait()
    with record.open("ab") as file:
        file.write(b"VFW1\xff\xff")  # what a kill within a write leaves
    machine.run("--headless", "--count", "1", "--record", str(record))
    out = machine.product.folder / "replayed.jsonl"
    done = machine.run("--replay", str(record), "--json", str(out), "--headless")
    assert done.returncode == 0, done.stderr
    times = [one["at_unix_ns"] for one in samples(out)]
    assert len(times) > 20 and times == sorted(times)
    assert len(samples(out)[-1]["cards"]) == 2


def test_a_recording_rotates(machine: Machine) -> None:
    record = machine.product.folder / "record"
    words = ("--record-limit", "2KiB", "--record-keep", "2", "--count", "600", "--interval", "10ms")
    assert machine.run("--headless", "--record", str(record), *words).returncode == 0
    assert Path(f"{record}.2").exists() and not Path(f"{record}.3").exists()


def test_a_full_disk_is_told_and_what_was_recorded_is_whole(machine: Machine) -> None:
    """A file size limit stands in for the full disk."""
    record = machine.product.folder / "record"
    command = (
        f'ulimit -f 4; trap "" XFSZ; exec {VRAMFIT} watch --headless --interval 10ms --count 600 --record {record}'
    )
    done = subprocess.run(
        ["bash", "-c", command], env=machine.environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2, done.stderr
    assert "samples were not recorded" in done.stderr
    assert "vramfit: vramfit:" not in done.stderr
    assert machine.run("--replay", str(record), "--headless", "--csv", "-").stdout.count("\n") > 10


def test_a_file_of_somebody_else_is_not_recorded_over(machine: Machine) -> None:
    thesis = machine.product.folder / "thesis"
    thesis.write_text("all my work")
    assert machine.run("--headless", "--count", "1", "--record", str(thesis)).returncode == 2
    assert thesis.read_text() == "all my work"


def test_the_peak_of_a_command_is_its_own_trees(machine: Machine, own_pid: int) -> None:
    """The command writes itself and its child into the driver's list; this process is somebody else."""
    machine.script(f"0 process {own_pid} {GIB}")
    script = machine.product.script(
        f"""
        import os, pathlib, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        file = pathlib.Path({str(machine.script_file)!r})
        def hold(own, childs):
            fresh = file.with_suffix(".peak")
            uses = [({own_pid}, {GIB}), (os.getpid(), own), (child.pid, childs)]
            fresh.write_text("".join(f"0 process {{pid}} {{used}}\\n" for pid, used in uses))
            fresh.rename(file)
            time.sleep(1)
        hold({2 * GIB}, {GIB})
        hold({5 * GIB}, {2 * GIB})
        hold({GIB}, 0)
        child.communicate(b"\\n")
        sys.exit(7)
        """
    )
    report = machine.product.folder / "peaks.json"
    done = machine.run("--json", str(report), "--", sys.executable, str(script))
    assert done.returncode == 7, done.stderr
    card = json.loads(report.read_text())["cards"][0]
    assert (card["peak_bytes"], card["processes"], card["exact"]) == (7 * GIB, 2, False)
    assert (card["card_before_bytes"], card["card_peak_bytes"]) == (GIB, 8 * GIB)
    assert "peak 7.00 GiB" in done.stderr and "in 2 processes" in done.stderr
