"""Several cards: data, sharded, tensor and pipeline parallelism under the real torchrun, and every collective."""

from __future__ import annotations

from importlib import metadata

import pytest
from card_run import MIB, CardRun, run_ranks, run_script

COLLECTIVES = 26  # checks in scripts/collectives.py, counted there by name
SLACK = (
    6 * MIB
)  # inputs, activations of 16 rows, the allocator's 512-byte and 2-MiB roundings, cuBLAS workspaces differ


@pytest.fixture(scope="module")
def alone() -> CardRun:
    return run_script("plain.py")


@pytest.fixture(scope="module")
def plain(alone: CardRun) -> dict:
    return alone.line()


@pytest.mark.by_release
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_every_collective_gives_what_it_must(ranks: int) -> None:
    lines = run_ranks(ranks, "collectives.py").lines()
    assert [line["rank"] for line in lines] == list(range(ranks))
    for line in lines:
        assert len(set(line["done"])) == len(line["done"]) == COLLECTIVES


def test_ddp_holds_one_more_copy_of_the_gradients(plain: dict) -> None:
    lines = run_ranks(2, "ddp.py").lines()
    assert [line["rank"] for line in lines] == [0, 1]
    for line in lines:
        buckets = line["allocated"] - plain["allocated"]
        assert abs(buckets - line["parameter_bytes"]) < MIB
        assert abs(line["peak_allocated"] - plain["peak_allocated"] - line["parameter_bytes"]) < SLACK


@pytest.mark.parametrize("options", [(), ("--view",)])
def test_ddps_buckets_are_called_gradients(plain: dict, options: tuple[str, ...]) -> None:
    run = run_ranks(2, "ddp.py", *options)
    rows = [row for row in run.result["owners_at_peak"] if row["device"] == 0]
    held = sum(row["bytes"] for row in rows if row["owner"] == "gradients")
    copies = 1 if options else 2  # with views the buckets are the gradients
    assert abs(held - copies * plain["parameter_bytes"]) < SLACK


def test_ddp_with_gradients_as_views_holds_no_second_copy(plain: dict) -> None:
    lines = run_ranks(2, "ddp.py", "--view").lines()
    assert [line["rank"] for line in lines] == [0, 1]
    for line in lines:
        assert line["peak_allocated"] - plain["peak_allocated"] < SLACK


def test_ranks_on_one_card_are_processes_of_their_own(alone: CardRun) -> None:
    run = run_ranks(2, "ddp.py", "--share", gpu="rtx3090")
    (card,) = run.result["devices"]
    (of_one,) = alone.result["devices"]
    assert card["context_bytes"] == 2 * of_one["context_bytes"]
    assert card["library_bytes"] == 2 * of_one["library_bytes"]
    reserved = sum(line["peak_reserved"] for line in run.lines())
    assert card["peak_device_bytes"] == reserved + card["context_bytes"] + card["library_bytes"]


@pytest.mark.parametrize("kind", ["1", "2"])
def test_fsdp_keeps_its_share_of_weights_and_state(plain: dict, kind: str) -> None:
    workspaces = plain["allocated"] - plain["parameter_bytes"]
    lines = run_ranks(2, "fsdp.py", kind).lines()
    assert [line["rank"] for line in lines] == [0, 1]
    for line in lines:
        share = line["parameter_bytes"] / 2
        assert abs(line["after_sharding"] - share) < MIB
        # after a step: the shard and AdamW's two moments of it
        assert abs(line["allocated"] - 3 * share - workspaces) < SLACK
        # at the peak: also the shard's gradients, and some layers gathered whole (4 MiB each)
        assert line["peak_allocated"] < 4 * share + line["parameter_bytes"] + workspaces + SLACK


def test_tensor_parallelism_splits_the_weights() -> None:
    lines = run_ranks(2, "tensor_parallel.py").lines()
    assert [line["rank"] for line in lines] == [0, 1]
    for line in lines:
        assert abs(line["after_splitting"] - line["parameter_bytes"] / 2) < MIB
        assert line["shape"] == [4, 1024]


def test_a_pipeline_stage_holds_its_own_layers() -> None:
    first, last = run_ranks(2, "pipeline.py").lines()
    assert first["parameter_bytes"] == last["parameter_bytes"] == 16 * MIB
    assert (first["losses"], last["losses"]) == (0, 4)
    for line in (first, last):
        assert 2 * line["parameter_bytes"] <= line["peak_allocated"] < 2 * line["parameter_bytes"] + 4 * SLACK


def test_data_parallel_puts_a_replica_on_each_card() -> None:
    line = run_script("data_parallel.py", gpu="2xrtx3090").line()
    first, second = line["peaks"]
    assert first >= 2 * line["parameter_bytes"]  # weights and gradients
    assert line["parameter_bytes"] <= second < first + SLACK


@pytest.mark.slow
def test_eight_ranks_use_eight_cards() -> None:
    name = "V100" if metadata.version("torch").startswith("2.6") else "A100"  # PyTorch for CUDA 13 left the V100 out
    run = run_ranks(8, "ddp.py", gpu={"V100": "8xV100-32GB", "A100": "8xa100-40gb"}[name])
    lines = run.lines()
    assert [line["card"] for line in lines] == list(range(8))
    assert len({line["peak_allocated"] for line in lines}) == 1
    assert len(run.result["devices"]) == 8
    assert {card["name"] for card in run.result["devices"]} == {run.result["devices"][0]["name"]}
    assert name in run.result["devices"][0]["name"]
