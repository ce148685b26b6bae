"""`vramfit doctor` and `vramfit explain` as a user meets them: exit codes, streams, JSON and SARIF, several inputs."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from doctor_calls import HERE, Doctor
from product import ROOT, VRAMFIT, Finished

CAPACITY = HERE / "texts" / "capacity_exceeded--bare_line_of_2024.txt"
FRAGMENTED = HERE / "texts" / "fragmentation--of_2024.txt"


def test_a_healthy_log_gives_an_explicit_all_clear(doctor: Doctor) -> None:
    log = doctor.product.folder / "train.log"
    log.write_text("epoch 1 loss 0.5\nepoch 2 loss 0.4\n")
    done = doctor.look(str(log))
    assert done.exit_code == 0, str(done)
    assert done.stdout.startswith("[✓] All well"), done.stdout
    assert done.result["trouble"] is False and done.result["findings"] == []


def test_the_verdict_comes_first_and_again_last(doctor: Doctor) -> None:
    lines = doctor.look(str(FRAGMENTED)).stdout.splitlines()
    first = lines[: lines.index("")]
    assert lines[-len(first) :] == first
    assert first[0].startswith("[✗] ")


def test_the_arithmetic_is_shown_with_the_line_it_rests_on(doctor: Doctor) -> None:
    finding = doctor.look(str(FRAGMENTED)).result["findings"][0]
    evidence = finding["evidence"][0]
    assert (evidence["file"], evidence["line"]) == (str(FRAGMENTED), 1)
    for number in ("22.04 GiB", "14.10 GiB", "7.94 GiB"):  # reserved - allocated = idle
        assert number in evidence["reasoning"]


def test_facts_are_exact_bytes_with_the_interval_that_the_text_stands_for(doctor: Doctor) -> None:
    facts = {fact["name"]: fact for fact in doctor.look(str(CAPACITY)).result["facts"]}
    tried = facts["oom.tried"]
    assert tried["bytes"] == 20 << 20
    assert tried["low_bytes"] <= 20 << 20 <= tried["high_bytes"]
    assert facts["oom.allocated"]["bytes"] == pytest.approx(7.41 * 2**30, rel=1e-6)


def test_a_hint_in_the_message_is_not_in_force_but_the_environment_is(
    doctor: Doctor, by_label: Callable[[Finished, str], dict[str, Any] | None]
) -> None:
    plain = by_label(doctor.look(str(FRAGMENTED)), "fragmentation")
    assert plain is not None
    assert any("expandable_segments:True" in (fix["command"] or "") for fix in plain["fixes"])
    log = doctor.product.folder / "job.log"
    log.write_text("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n" + FRAGMENTED.read_text())
    for finding in doctor.look(str(log)).result["findings"]:
        assert all("expandable_segments" not in (fix["command"] or "") for fix in finding["fixes"])


def test_a_batch_of_one_is_not_made_smaller(
    doctor: Doctor, by_label: Callable[[Finished, str], dict[str, Any] | None]
) -> None:
    log = doctor.product.folder / "job.log"
    log.write_text("per_device_train_batch_size=1\n" + CAPACITY.read_text())
    finding = by_label(doctor.look(str(log)), "capacity_exceeded")
    assert finding is not None
    assert all("smaller batch" not in fix["what"] for fix in finding["fixes"])
    assert any("batch size is 1" in left["why"] for left in finding["not_advised"])


def test_several_files_are_one_case(doctor: Doctor) -> None:
    done = doctor.look(str(CAPACITY), str(HERE / "texts" / "host_ram_oom--kernel.txt"))
    assert {one["label"] for one in done.result["findings"]} >= {"capacity_exceeded", "host_ram_oom"}
    assert len(done.result["read"]) == 2


def test_standard_input_is_read_as_a_dash(doctor: Doctor) -> None:
    done = subprocess.run(
        [str(VRAMFIT), "doctor", "-", "--json", "-"],
        stdin=FRAGMENTED.open(),
        capture_output=True,
        text=True,
        env=doctor.product.environment(),
        timeout=60,
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["findings"][0]["label"] == "fragmentation"


def test_a_script_from_a_pipe_was_not_run(doctor: Doctor) -> None:
    done = subprocess.run(
        [str(VRAMFIT), "doctor", "-", "--json", "-"],
        input="import torch\nfor step in range(9):\n    print(torch.ones(1).item())\n",
        capture_output=True,
        text=True,
        env=doctor.product.environment(),
        timeout=60,
    )
    assert done.returncode == 1
    first = json.loads(done.stdout)["findings"][0]
    assert first["title"] == "standard input is a program's source, and it was not run"
    assert first["fixes"][0]["command"] == "vramfit doctor --gpu CARD -- python YOUR_SCRIPT.py"


def test_a_file_that_is_not_there_is_an_error(doctor: Doctor) -> None:
    done = doctor.look("nowhere.log")
    assert done.exit_code == 2 and "nowhere.log" in done.stderr and done.stdout == ""


def test_a_file_that_can_not_be_read_beside_one_that_can_is_a_warning(doctor: Doctor) -> None:
    done = doctor.look(str(FRAGMENTED), "nowhere.log")
    assert done.exit_code == 1
    assert any("nowhere.log" in warning for warning in done.result["warnings"])


def test_nothing_to_look_at_is_a_usage_error(doctor: Doctor) -> None:
    assert doctor.look().exit_code == 2


def test_sarif_on_standard_output_stands_alone(doctor: Doctor) -> None:
    done = doctor.product.call("doctor", "--sarif", "-", str(FRAGMENTED))
    assert json.loads(done.stdout)["version"] == "2.1.0"
    both = doctor.product.call("doctor", "--sarif", "-", "--json", "-", str(FRAGMENTED))
    assert both.exit_code == 2 and "can't both be written" in both.stderr


def test_a_zip_archive_of_a_log_is_called_one(doctor: Doctor) -> None:
    archive = doctor.product.folder / "log.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("train.log", "epoch 1 loss 0.5\n" * 40)
    done = doctor.product.call("doctor", str(archive))
    assert done.exit_code == 2 and "this is a zip archive, and train.log in it is no pickle" in done.stderr


def test_sarif_names_rules_and_places(doctor: Doctor) -> None:
    sarif = doctor.product.folder / "out.sarif"
    doctor.look("--sarif", str(sarif), str(FRAGMENTED))
    log = json.loads(sarif.read_text())
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    first = run["results"][0]
    assert first["ruleId"] == "VF301" and first["ruleId"] in rules and first["level"] == "error"
    place = first["locations"][0]["physicalLocation"]
    assert place["region"]["startLine"] == 1 and place["artifactLocation"]["uri"] == str(FRAGMENTED)


def test_a_terminal_without_utf8_gets_ascii(doctor: Doctor) -> None:
    done = doctor.look(str(FRAGMENTED), LC_ALL="C")
    assert done.stdout.isascii() and done.stdout.startswith("[x] ")


def test_explain_lists_every_cause_and_explains_one(doctor: Doctor) -> None:
    listed = doctor.product.call("explain")
    assert listed.exit_code == 0
    assert all(len(line) <= 80 for line in listed.stdout.splitlines()), listed.stdout
    assert "…" not in listed.stdout, "no title is cut"
    for name in ("VF201", "vf201", "leak_growth"):
        page = doctor.product.call("explain", name)
        assert page.exit_code == 0 and page.stdout.startswith("VF201 leak_growth\n")
        assert "history.append(out.detach())" in page.stdout, "the smallest example is shown"
        assert "What cures it" in page.stdout
    assert doctor.product.call("explain", "VF999").exit_code == 2


def test_the_table_of_causes_is_what_the_program_says() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "refresh_causes"), "--check"],
        env={**os.environ, "VRAMFIT": str(VRAMFIT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


def test_a_damaged_snapshot_is_an_error_that_says_where(doctor: Doctor, tmp_path: Path) -> None:
    damaged = tmp_path / "snapshot.pickle"
    damaged.write_bytes((ROOT / "fixtures" / "snapshots" / "torch-2.12.1.pickle").read_bytes()[:40])
    done = doctor.look(str(damaged))
    assert done.exit_code in (1, 2) and "snapshot.pickle" in done.stderr + done.stdout


def test_a_snapshot_is_read_beside_a_log(doctor: Doctor) -> None:
    done = doctor.look(str(ROOT / "fixtures" / "snapshots" / "torch-2.12.1.pickle"), str(FRAGMENTED))
    assert any(fact["name"] == "snapshot.reserved" and fact["bytes"] > 0 for fact in done.result["facts"])
    assert done.result["findings"][0]["label"] == "fragmentation"


@contextlib.contextmanager
def writing_to(pipe: Path, text: bytes) -> Iterator[None]:
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # without it nobody can open the other end yet
    writing = os.open(pipe, os.O_WRONLY)
    os.write(writing, text)
    closing = threading.Timer(1.0, os.close, [writing])
    closing.start()
    yield
    closing.join()
    os.close(reading)


def test_a_named_pipe_is_read_while_somebody_writes_to_it_and_refused_otherwise(doctor: Doctor) -> None:
    pipe = doctor.product.folder / "train.fifo"
    os.mkfifo(pipe)
    alone = doctor.look(str(pipe), timeout=60)
    assert alone.exit_code == 2, str(alone)
    assert "nobody writes to this pipe" in alone.stderr and str(pipe) in alone.stderr, alone.stderr
    with writing_to(pipe, b"python train.py\nKilled\n"):
        told = doctor.look(str(pipe), timeout=60)
    assert told.result["findings"][0]["label"] == "host_ram_oom", str(told)


def test_what_comes_before_a_script_is_read_once_for_its_card_and_for_the_cause(doctor: Doctor) -> None:
    """A pipe can't be read a second time."""
    pipe = doctor.product.folder / "train.fifo"
    os.mkfifo(pipe)
    with writing_to(pipe, FRAGMENTED.read_bytes()):
        done = doctor.look(str(pipe), "--", sys.executable, "-c", "pass", timeout=120)
    assert "as the files have it" in done.stderr, str(done)
    assert done.result["findings"][0]["label"] == "fragmentation", str(done)


def test_a_packed_log_is_read(doctor: Doctor) -> None:
    packed = doctor.product.folder / "train.log.1.gz"
    packed.write_bytes(gzip.compress(CAPACITY.read_bytes()))
    done = doctor.look(str(packed))
    assert done.result["findings"][0]["label"] == "capacity_exceeded", str(done)
    packed.write_bytes(gzip.compress(b"epoch 1 loss 0.5\n" * 9000)[:-300])
    damaged = doctor.look(str(packed))
    assert damaged.result["trouble"] is True, "what is behind the damage may be the failure"
    packed.write_bytes(gzip.compress(bytes(range(256)) * 9))
    assert doctor.look(str(packed)).exit_code == 2


def test_a_run_that_was_cut_at_once_says_so(doctor: Doctor) -> None:
    script = doctor.product.script("""
import torch
model = torch.nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
kept = []
for step in range(100_000):
    loss = model(torch.randn(64, 64, device="cuda")).sum()
    loss.backward()
    optimizer.step()
    if step % 5 == 0: kept.append(loss.detach().expand(256, 256).clone())
""")
    done = doctor.look("--within", "6n", "--", sys.executable, str(script))
    first = done.result["findings"][0]
    assert first["confidence"] < 0.35 and "cut" in done.result["verdict"] + str(first["evidence"]), done


def test_a_code_with_a_letter_for_its_digit_gets_the_cause_that_was_meant(doctor: Doctor) -> None:
    for typed, meant in (("VF2O1", "VF201"), ("VF20", "VF201"), ("leak_groth", "leak_growth")):
        done = doctor.product.call("explain", typed)
        assert done.exit_code == 2 and f"did you mean {meant}?" in done.stderr, str(done)


def test_a_packed_log_that_says_one_thing_over_and_over_is_read_in_part_and_says_so(
    doctor: Doctor, tmp_path: Path
) -> None:
    packed = tmp_path / "again.log.gz"
    packed.write_bytes(gzip.compress(b"epoch 1 loss 0.5\n" * (20 << 20), compresslevel=9))  # 340 MiB
    done = doctor.look(str(packed))
    assert not done.stdout.startswith("[✓]"), done.stdout
    assert "100 times its own size" in done.stdout


def test_a_snapshot_with_sizes_below_zero_is_not_green(doctor: Doctor, tmp_path: Path) -> None:
    odd = tmp_path / "odd.pickle"
    odd.write_bytes(
        pickle.dumps(
            {
                "segments": [{"address": 4096, "total_size": -5, "blocks": []}],
                "device_traces": [[{"action": "alloc", "addr": 1, "size": -1, "stream": 0, "frames": []}]],
            }
        )
    )
    done = doctor.look(str(odd))
    assert not done.stdout.startswith("[✓]"), done.stdout
    assert "below zero" in done.stdout


@pytest.mark.cold
def test_a_script_that_somebody_ends_is_interrupted_and_not_failed(doctor: Doctor) -> None:
    product = doctor.product
    begun = product.folder / "begun"
    script = product.script(
        f"import time, torch\nx = torch.zeros(8, device='cuda')\nopen({str(begun)!r}, 'w').close()\ntime.sleep(600)\n"
    )
    process = subprocess.Popen(
        [str(VRAMFIT), "doctor", "--gpu", "rtx3060", "--files", "shared", "--", sys.executable, str(script)],
        cwd=product.folder, env=product.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        for _ in range(600):
            if begun.exists():
                break
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, said
    assert "interrupted" in said and "not for want of memory" not in said
