"""Every recorded snapshot is read as Python's own pickle.load reads it, and what is cut off is read up to the cut."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from dump import ROOT, dump, run

FIXTURES = ROOT / "fixtures" / "snapshots"
PICKLES = sorted(FIXTURES.glob("*.pickle"))
PACKED = ["torch-2.12.1.pickle.gz", "torch-2.12.1.zip", "torch-2.12.1-saved.pt", "torch-2.12.1-saved-old.pt"]
# The oldest release that can have written each file, by what is in it.
RELEASES = {
    "torch-2.0-by-hand": "2.0",
    "torch-2.1-by-hand": "2.1",
    "torch-2.5.1": "2.5",
    "torch-2.6.0": "2.5",
    "torch-2.8.0": "2.7",
    "torch-2.9.1": "2.9",
    "torch-2.11.0": "2.10",
    "torch-2.12.1": "2.12",
    "torch-2.13.0": "2.12",
    "torch-2.14.0": "2.14",
    "torch-2.15.0": "2.14",
}


def frames(item: dict[str, Any]) -> list[list[Any]]:
    return [[frame["filename"], frame["line"], frame["name"]] for frame in item.get("frames", [])]


def block(item: dict[str, Any], address: int) -> dict[str, Any]:
    history = item.get("history", [])
    newest = history[0] if history else item
    return {
        "address": address,
        "size": item["size"],
        "requested_size": newest.get("real_size", item.get("requested_size", 0)),
        "state": item["state"],
        "history": len(history),
        "frames": frames(newest),
    }


def segment(item: dict[str, Any]) -> dict[str, Any]:
    blocks, address = [], item["address"]
    for one in item["blocks"]:
        blocks.append(block(one, one.get("address", address)))
        address += one["size"]
    plain = ("device", "address", "total_size", "allocated_size", "active_size", "stream", "segment_type")
    return {
        **{name: item[name] for name in plain},
        "requested_size": item.get("requested_size", 0),
        "segment_pool_id": list(item.get("segment_pool_id", (0, 0))),
        "is_expandable": item.get("is_expandable", False),
        "frames": frames(item),
        "blocks": blocks,
    }


def entry(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "action": item["action"],
        "addr": item["device_free"] if item["action"] == "oom" else item["addr"],
        "size": item["size"],
        "stream": item["stream"],
        "time_us": item.get("time_us", 0),
        "compile_context": item.get("compile_context", ""),
        "user_metadata": item.get("user_metadata", ""),
        "pool_id": list(item["pool_id"]) if "pool_id" in item else None,
        "frames": frames(item),
    }


def expected(snapshot: dict[str, Any]) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "segments": [segment(item) for item in snapshot["segments"]],
        "host_segments": [segment(item) for item in snapshot.get("host_segments", [])],
        "device_traces": [[entry(item) for item in trace] for trace in snapshot["device_traces"]],
        "host_traces": [entry(item) for item in snapshot.get("host_traces", [])],
        "external_annotations": snapshot.get("external_annotations", []),
    }
    if "allocator_settings" in snapshot:
        whole["allocator_settings"] = snapshot["allocator_settings"]
    return whole


def content(read: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in read.items() if name not in {"torch_at_least", "unknown", "unread"}}


@pytest.mark.parametrize("path", PICKLES, ids=lambda path: path.stem)
def test_a_recorded_snapshot_is_read_as_python_reads_it(path: Path) -> None:
    read = dump("snapshot", path)
    assert content(read) == expected(pickle.loads(path.read_bytes()))
    assert (read["unknown"], read["unread"]) == ({}, {})
    for name, release in RELEASES.items():
        if path.stem == name:
            assert read["torch_at_least"] == release


@pytest.mark.parametrize("name", PACKED)
def test_a_packed_snapshot_is_the_same_as_the_plain_one(name: str) -> None:
    plain = dump("snapshot", FIXTURES / "torch-2.12.1.pickle")
    assert dump("snapshot", FIXTURES / name) == plain


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_snapshot_of_any_protocol_is_the_same(protocol: int, tmp_path: Path) -> None:
    snapshot = pickle.loads((FIXTURES / "torch-2.14.0.pickle").read_bytes())
    path = tmp_path / "again.pickle"
    path.write_bytes(pickle.dumps(snapshot, protocol=protocol))
    assert content(dump("snapshot", path)) == expected(snapshot)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_cut_file_gives_what_was_complete(protocol: int, tmp_path: Path) -> None:
    snapshot = pickle.loads((FIXTURES / "torch-2.12.1.pickle").read_bytes())
    whole = pickle.dumps(snapshot, protocol=protocol)
    truth = expected(snapshot)
    path = tmp_path / "cut.pickle"
    most = 0
    for size in range(0, len(whole), 61):
        path.write_bytes(whole[:size])
        done = run("snapshot", path)
        assert done.returncode in (0, 1), done.stderr
        if done.returncode == 1:
            assert "offset" in done.stderr or size == 0
            continue
        read = dump("snapshot", path)
        assert read["truncated_at"] <= size
        assert read["segments"] == truth["segments"][: len(read["segments"])]
        for trace, whole_trace in zip(read["device_traces"], truth["device_traces"], strict=False):
            assert trace == whole_trace[: len(trace)]
            most = max(most, len(trace))
        # The settings and annotations behind the trace are small: most of the last fifth cuts nothing of it.
        if size > len(whole) * 0.7:
            assert read["device_traces"][0], size
    assert most >= len(truth["device_traces"][0]) - 2


def test_what_is_not_known_is_kept_and_counted(tmp_path: Path) -> None:
    snapshot = pickle.loads((FIXTURES / "torch-2.12.1.pickle").read_bytes())
    snapshot["of_tomorrow"] = {"a": [1, 2, {"b": None}]}
    for number, item in enumerate(snapshot["device_traces"][0]):
        item["thread"] = number % 2
    snapshot["device_traces"][0][0]["action"] = "segment_teleport"
    path = tmp_path / "new.pickle"
    path.write_bytes(pickle.dumps(snapshot))
    read = dump("snapshot", path)
    assert read["unknown"]["snapshot.of_tomorrow"] == [1, ['{"a":[1,2,{"b":null}]}']]
    assert read["unknown"]["trace.thread"] == [len(snapshot["device_traces"][0]), ["0", "1"]]
    assert read["unread"] == {'trace action "segment_teleport"': 1}


def test_a_snapshot_within_something_else_is_found(tmp_path: Path) -> None:
    snapshot = pickle.loads((FIXTURES / "torch-2.6.0.pickle").read_bytes())
    path = tmp_path / "wrapped.pickle"
    path.write_bytes(pickle.dumps({"rank": 3, "snapshot": snapshot}))
    assert content(dump("snapshot", path)) == expected(snapshot)
    path.write_bytes(pickle.dumps(snapshot["segments"]))  # torch.cuda.memory_snapshot()
    assert content(dump("snapshot", path))["segments"] == expected(snapshot)["segments"]
