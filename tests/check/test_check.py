"""`vramfit check` on recordings that real PyTorch makes: memory snapshots and traces of its profiler."""

from __future__ import annotations

import os
from typing import Any

import pytest
from checked import check, record
from product import Product

pytestmark = pytest.mark.warm

# Layers wide enough for segments of their own, a step that frees and asks again.
TRAINS = """
    import sys
    import torch
    from torch import nn

    def build():
        return nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 1024), nn.ReLU(), nn.Linear(1024, 10))

    def step(model, optimizer, batch):
        optimizer.zero_grad()
        model(torch.zeros(batch, 1024, device="cuda")).sum().backward()
        optimizer.step()

    BEGIN
    model = build().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for i in range(3):
        step(model, optimizer, BATCH)
        MIDDLE
    END
"""
RECORD = "torch.cuda.memory._record_memory_history(max_entries=100000)"
DUMP = 'torch.cuda.memory._dump_snapshot("recorded.pickle")'


def text(begin: str = "pass", middle: str = "pass", end: str = "pass", batch: int = 512) -> str:
    words = {"BEGIN": begin, "MIDDLE": middle, "END": end, "BATCH": str(batch)}
    made = TRAINS
    for name, value in words.items():
        made = made.replace(name, value)
    return made


def causes(result: dict[str, Any]) -> dict[str, str]:
    return {each["cause"]: each["text"] for each in result["causes"]}


def test_a_script_that_records_itself_is_compared_with_its_own_dump(product: Product) -> None:
    script = text(begin=RECORD, end=DUMP)
    done = check(product, record(product, script), script)
    assert done.exit_code == 0, done
    result = done.result
    assert result["agreement"] == "same" and result["differences"] == []
    assert result["partner"] == "what the script dumps to recorded.pickle"
    assert result["events"]["same"] == result["events"]["recorded"] == result["events"]["virtual"] > 100
    assert result["places"]["same"] == result["places"]["of"] > 30
    assert all(figure["recorded"] == figure["virtual"] for figure in result["figures"])
    assert f"[✓] {result['events']['same']} of {result['events']['same']} events the same, in order" in done.stdout


def test_a_script_that_records_nothing_is_recorded_for_it(product: Product) -> None:
    recording = record(product, text(begin=RECORD, end=DUMP))
    done = check(product, recording, text())
    assert done.exit_code == 0, done
    assert done.result["agreement"] == "same"
    assert done.result["partner"] == "its memory history from the first use of the card to its end"


def test_a_recording_from_the_middle_finds_its_place(product: Product) -> None:
    begin_late = f"({RECORD} if i == 0 else None, {DUMP} if i == 1 else None)"
    recording = record(product, text(middle=begin_late))
    done = check(product, recording, text())
    assert done.exit_code == 0, done
    assert done.result["agreement"] == "same", done
    assert done.result["events"]["before"] > 10 and done.result["events"]["after"] > 10
    assert any("does not reach back" in note for note in done.result["notes"])


def test_the_order_of_addresses_is_recognised_and_can_be_followed(product: Product) -> None:
    script = text(begin=RECORD, end=DUMP)
    recording = record(product, script, "--address-order", "wsl")
    done = check(product, recording, script)
    assert done.result["places"]["recorded_order"] == "wsl", done
    assert done.result["places"]["virtual_order"] == "linux", done
    followed = check(product, recording, script, "--address-order", "wsl").result["places"]
    assert followed["same"] == followed["of"] and followed["virtual_order"] == "wsl"


def test_another_batch_size_is_told_by_its_ratio_and_its_line(product: Product) -> None:
    recording = record(product, text(begin=RECORD, end=DUMP, batch=1536))
    done = check(product, recording, text(begin=RECORD, end=DUMP, batch=1024))
    assert done.exit_code == 1, done
    assert done.result["agreement"] == "different"
    assert "1.5 times as large in the recording" in causes(done.result)["scaled"]
    first = done.result["differences"][0]
    assert first["recorded"]["size_bytes"] == 1536 * 1024 * 4
    assert first["virtual"]["size_bytes"] == 1024 * 1024 * 4
    assert first["recorded"]["line"].endswith(" step") and first["recorded"]["line"].startswith("train.py:")
    assert "The first event that differs" in done.stdout


def test_a_package_that_asks_for_more_is_named(product: Product) -> None:
    package = product.folder / "site-packages" / "counter"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def count(batch):\n    return 0\n")
    script = text(
        begin=f"sys.path.insert(0, 'site-packages'); import counter; {RECORD}", middle="counter.count(i)", end=DUMP
    )
    recording = record(product, script)
    more = "import torch\ndef count(batch):\n    return [torch.ones(3, device='cuda') for _ in range(20)]\n"
    (package / "__init__.py").write_text(more)
    done = check(product, recording, script, PYTHONDONTWRITEBYTECODE="1")
    assert done.exit_code == 1, done
    assert "were asked for by counter" in causes(done.result)["package"], done
    assert done.result["events"]["only_virtual"] >= 3 * 20


def test_settings_of_the_allocator_are_a_cause(product: Product) -> None:
    script = text(begin=RECORD, end=DUMP)
    recording = record(product, script, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    done = check(product, recording, script)
    assert done.exit_code == 1, done
    assert "recorded with expandable_segments:True" in causes(done.result)["settings"]


PROFILED = """
    import torch
    from torch.profiler import ProfilerActivity, profile

    model = torch.nn.Sequential(torch.nn.Linear(1024, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 512)).cuda()

    def step():
        model(torch.zeros(BATCH, 1024, device="cuda")).sum().backward()

    step()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True, with_stack=True) as run:
        step()
        step()
    run.export_chrome_trace("NAME")
"""


@pytest.mark.parametrize("name", ["trace.json", "trace.json.gz"])
def test_a_trace_of_the_profiler_names_its_card_and_is_found_in_the_run(product: Product, name: str) -> None:
    script = PROFILED.replace("NAME", name)
    record(product, script.replace("BATCH", "256"))
    done = check(product, product.folder / name, script.replace("BATCH", "256"), gpu="")
    assert done.exit_code == 0, done
    result = done.result
    assert result["format"] == "Kineto trace" and result["card"] == "NVIDIA GeForce RTX 3060"
    assert result["agreement"] == "same" and result["events"]["same"] > 10
    assert result["events"]["before"] > 5
    assert {figure["name"] for figure in result["figures"]} >= {"allocated at the peak", "reserved at the end"}


def test_a_trace_tells_operators_and_lines(product: Product) -> None:
    script = PROFILED.replace("NAME", "trace.json")
    record(product, script.replace("BATCH", "256"))
    done = check(product, product.folder / "trace.json", script.replace("BATCH", "128"))
    assert done.exit_code == 1, done
    lines = [each["recorded"]["line"] for each in done.result["differences"] if each["recorded"]]
    assert any("aten::" in line for line in lines), lines


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("Traceback (most recent call last):\n", "pickle"),
        ('{"a": [1, 2]}', "no Kineto trace"),
        ('{"traceEvents": []}', "tells nothing of a card's memory"),
    ],
)
def test_other_files_are_refused(product: Product, content: str, says: str) -> None:
    path = product.folder / "other"
    path.write_text(content)
    done = check(product, path, "print('started')")
    assert done.exit_code == 2 and says in done.stderr and "started" not in done.stdout, done


def test_a_pipe_and_a_name_that_is_not_there_are_refused(product: Product) -> None:
    os.mkfifo(product.folder / "pipe")
    assert check(product, product.folder / "pipe", "pass").exit_code == 2
    assert check(product, product.folder / "nothing.pickle", "pass").exit_code == 2


def test_a_snapshot_without_history_says_how_to_record_one(product: Product) -> None:
    recording = record(product, text(end=DUMP))
    done = check(product, recording, text())
    assert done.exit_code == 2 and "_record_memory_history()" in done.stderr, done


def test_a_snapshot_does_not_name_its_card(product: Product) -> None:
    recording = record(product, text(begin=RECORD, end=DUMP))
    done = check(product, recording, text(), gpu="")
    assert done.exit_code == 2 and "--gpu" in done.stderr, done


def test_a_job_that_fails_is_compared_as_far_as_it_came(product: Product) -> None:
    recording = record(product, text(begin=RECORD, end=DUMP))
    done = check(product, recording, text(middle="raise ValueError('early')"))
    assert done.exit_code == 1, done
    assert any("ValueError: early" in note for note in done.result["notes"])
    assert "shorter" in causes(done.result), done


def test_the_order_of_addresses_is_learned_for_later_runs_on_the_card(product: Product) -> None:
    script = text(begin=RECORD, end=DUMP)
    recording = record(product, script, "--address-order", "wsl")
    learned = check(product, recording, script, "--learn")
    assert learned.result["learned"] == ["the order of addresses on NVIDIA GeForce RTX 3060: wsl"], learned
    later = check(product, recording, script).result["places"]
    assert later["same"] == later["of"] and later["virtual_order"] == "wsl"
    said = "learned from recorded.pickle on"
    assert said in " ".join(product.run(script).stderr.split())
    assert said not in " ".join(product.run(script, options=("--no-learned",)).stderr.split())
    assert said not in " ".join(product.run(script, gpu="t4").stderr.split()), "another card"


def test_nothing_is_learned_of_another_run(product: Product) -> None:
    recording = record(product, text(begin=RECORD, end=DUMP), "--address-order", "wsl")
    done = check(product, recording, text(begin=RECORD, end=DUMP, batch=4096), "--learn")
    assert done.exit_code == 1 and done.result["learned"] == [], done
    assert any("nothing was learned" in note for note in done.result["notes"])


def test_a_recording_that_was_cut_proves_nothing_and_says_so_first(product: Product) -> None:
    script = text(begin=RECORD, end=DUMP)
    recording = record(product, script)
    whole = recording.read_bytes()
    cut = product.folder / "cut.pickle"
    cut.write_bytes(whole[: len(whole) * 97 // 100])
    done = check(product, cut, text())
    assert done.exit_code in (1, 4), done
    assert done.stdout.lstrip().startswith(("[?] the recording is damaged", "[✗] the recording is damaged")), done
    assert done.result["agreement"] in ("different", "not_compared")
    assert not any("does not reach back" in note for note in done.result["notes"]), done
    cut.write_bytes(whole[: len(whole) // 12])
    done = check(product, cut, text())
    assert done.exit_code == 2 and "cut off" in done.stderr, done


def test_a_device_that_was_not_recorded_is_refused_with_those_that_were(product: Product) -> None:
    script = text(begin=RECORD, end=DUMP)
    done = check(product, record(product, script), text(), "--device", "9")
    assert done.exit_code == 2, done
    assert "nothing of device 9" in done.stderr and "--device 0" in done.stderr, done


def test_another_batch_of_small_blocks_is_a_ratio(product: Product) -> None:
    script = text(begin=RECORD, end=DUMP, batch=16)
    done = check(product, record(product, script), text(batch=24))
    assert done.exit_code == 1, done
    assert "0.6667 times" in causes(done.result)["scaled"] or "0.667 times" in causes(done.result)["scaled"], done
