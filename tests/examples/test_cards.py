"""Plausibility of the card catalogue: figures that hang together by arithmetic must do so, and each has a source."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")

CATALOGUE = Path(__file__).parents[2] / "src" / "devices" / "cards.toml"
CARDS = tomllib.loads(CATALOGUE.read_text())["card"]

# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", and FP32 cores per SM.
# threads per SM, blocks per SM, shared KiB per SM, shared KiB per block (opt-in), cores per SM
LIMITS = {
    "6.0": (2048, 32, 64, 48, 64),
    "6.1": (2048, 32, 96, 48, 128),
    "7.0": (2048, 32, 96, 96, 64),
    "7.5": (1024, 16, 64, 64, 64),
    "8.0": (2048, 32, 164, 163, 64),
    "8.6": (1536, 16, 100, 99, 128),
    "8.9": (1536, 24, 100, 99, 128),
    "9.0": (2048, 32, 228, 227, 128),
    "10.0": (2048, 32, 228, 227, 128),
    "12.0": (1536, 24, 100, 99, 128),
}
SOURCES = {
    "memory",
    "units",
    "clocks",
    "bandwidth",
    "l2",
    "limits",
    "rates",
    "context",
    "libraries",
    "price",
    "release_year",
}
DRIVER_NAME = re.compile(r"^(NVIDIA|Tesla|Quadro) ")

each_card = pytest.mark.parametrize("card", CARDS, ids=lambda card: card["key"])


def squeeze(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def test_the_catalogue_reaches_from_pascal_to_blackwell_in_every_category():
    assert len(CARDS) >= 45
    assert {card["category"] for card in CARDS} == {"desktop", "laptop", "workstation", "datacenter"}
    assert {"6.1", "7.5", "8.6", "8.9", "12.0"} <= {card["compute_capability"] for card in CARDS}
    assert {"6.0", "7.0", "8.0", "9.0", "10.0"} <= {
        card["compute_capability"] for card in CARDS if card["category"] == "datacenter"
    }


def test_no_two_cards_answer_to_the_same_spelling():
    spellings = Counter()
    for card in CARDS:
        spellings.update({squeeze(name) for name in [card["key"], *card["aliases"]]})
    assert [name for name, count in spellings.items() if count > 1] == []


def test_cards_with_the_same_driver_name_differ_in_memory():
    boards = Counter((card["name"], card["memory_bytes"]) for card in CARDS)
    assert max(boards.values()) == 1


@each_card
def test_bandwidth_is_bus_times_data_rate(card):
    computed = card["memory_bus_bits"] / 8 * card["memory_clock_khz"] * 2 / 1e6
    assert card["bandwidth_gbps"] == pytest.approx(computed, rel=0.05)


@each_card
def test_fp32_rate_is_two_operations_per_core_and_clock(card):
    cores = card["sm_count"] * LIMITS[card["compute_capability"]][4]
    assert card["rates"]["fp32"] == pytest.approx(cores * 2 * card["sm_clock_khz"] / 1e9, rel=0.05)


@each_card
def test_limits_are_those_of_the_compute_capability(card):
    threads, blocks, shared, optin, _ = LIMITS[card["compute_capability"]]
    assert card["max_threads_per_sm"] == threads
    assert card["max_blocks_per_sm"] == blocks
    assert card["registers_per_sm"] == 65536
    assert card["shared_bytes_per_sm"] == shared * 1024
    assert card["shared_bytes_per_block_optin"] == optin * 1024


@each_card
def test_reported_memory_is_a_little_below_a_marketing_size(card):
    gib = card["memory_bytes"] / 2**30
    sizes = [2, 4, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 80, 94, 96, 141, 180]
    marketing = min(size for size in sizes if size > gib)
    # GDDR cards with ECC always on (T4, A10, L4, L40S) lose a sixteenth; nothing loses more than 8.5 %.
    assert 0.915 * marketing < gib < marketing


@each_card
def test_tensor_rates_follow_the_generation(card):
    rates, generation = card["rates"], float(card["compute_capability"])
    assert ("tf32" in rates) == ("bf16" in rates) == (generation >= 8.0)
    assert ("fp8" in rates) == (generation >= 8.9)
    if "fp16_tensor" in rates:
        assert rates["fp16_tensor"] >= 1.99 * rates["fp32"]
        assert generation >= 7.0
    else:
        assert generation < 8.0
    if generation == 6.1:
        assert rates["fp16"] < rates["fp32"] / 32  # halves are slower than floats there


@each_card
def test_overhead_is_known_for_both_cuda_versions(card):
    for major in ("12", "13"):
        overhead = card["overhead"][major]
        lazy, eager = overhead["context_lazy_bytes"], overhead["context_eager_bytes"]
        assert 50 * 2**20 < lazy < 700 * 2**20
        assert lazy + 512 * 2**20 < eager < 2.5 * 2**30
        assert 24 * 2**20 <= overhead["context_uncertainty_bytes"] <= 107 * 2**20
        threads = card["sm_count"] * card["max_threads_per_sm"]
        # Fitted by bench/published/library_memory.py; one measured on a card itself would be named in its sources.
        assert overhead["kernel_bytes"] == threads * (540 if card["compute_capability"] == "9.0" else 330)
        assert overhead["library_bytes"] == 11 * 2**20
        assert eager + overhead["kernel_bytes"] + 4 * overhead["library_bytes"] < card["memory_bytes"]


@each_card
def test_every_figure_has_a_source(card):
    assert set(card["sources"]) == SOURCES
    assert all(len(text) > 10 for text in card["sources"].values())


@each_card
def test_name_is_the_drivers(card):
    assert DRIVER_NAME.match(card["name"])
    assert re.fullmatch(r"[a-z0-9-]+", card["key"])
    assert 2016 <= card["release_year"] <= 2026
    assert 0 < card["price_factor"] < 20


def test_price_scale_is_anchored():
    factors = {card["key"]: card["price_factor"] for card in CARDS}
    assert factors["rtx3090"] == 1.0
    assert factors["a100-80gb"] == 3.5
