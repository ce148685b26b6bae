"""Plausibility of the card catalogue: figures that hang together by arithmetic must do so, and each has a source."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib", reason="needs Python 3.11")

CATALOGUE = Path(__file__).parents[2] / "src" / "devices" / "cards.toml"
CARDS = tomllib.loads(CATALOGUE.read_text())["card"]

# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", and FP32 cores per SM.
# threads per SM, blocks per SM, shared KiB per SM, shared KiB per block (opt-in), cores per SM
LIMITS = {
    "3.7": (2048, 16, 112, 48, 192),
    "5.2": (2048, 32, 96, 48, 128),
    "6.0": (2048, 32, 64, 48, 64),
    "6.1": (2048, 32, 96, 48, 128),
    "7.0": (2048, 32, 96, 96, 64),
    "7.2": (2048, 32, 96, 96, 64),
    "7.5": (1024, 16, 64, 64, 64),
    "8.0": (2048, 32, 164, 163, 64),
    "8.6": (1536, 16, 100, 99, 128),
    "8.7": (1536, 16, 164, 163, 128),
    "8.9": (1536, 24, 100, 99, 128),
    "9.0": (2048, 32, 228, 227, 128),
    "10.0": (2048, 32, 228, 227, 128),
    "10.3": (2048, 32, 228, 227, 128),
    "11.0": (1536, 24, 228, 227, 128),
    "12.0": (1536, 24, 100, 99, 128),
    "12.1": (1536, 24, 100, 99, 128),
}
REGISTERS = {"3.7": 131072}  # 65536 everywhere else

# Dense operations per SM and clock (a multiply-add is two), from NVIDIA's whitepapers: GP100, V100, Turing, A100,
# GA102, Jetson AGX Orin (technical brief), Ada, H100, RTX Blackwell, RTX PRO Blackwell, and the CUDA C++ Programming
# Guide, "Arithmetic Instructions". FP16 on tensor cores accumulates in FP32, which GeForce cards do at half the rate of
# professional ones.
GEFORCE, PROFESSIONAL, NO_TENSOR_CORES = "GeForce", "professional", "without tensor cores"
AMPERE_GEFORCE = {"fp64": 4, "fp32": 256, "tf32": 256, "fp16": 256, "fp16_tensor": 512, "bf16": 512, "int8": 2048}
AMPERE_PROFESSIONAL = AMPERE_GEFORCE | {"tf32": 512, "fp16_tensor": 1024, "bf16": 1024}
A100 = {"fp64": 64, "fp32": 128, "tf32": 1024, "fp16": 512, "fp16_tensor": 2048, "bf16": 2048, "int8": 4096}
OPERATIONS = {
    ("3.7", PROFESSIONAL): {"fp64": 128, "fp32": 384},
    ("5.2", PROFESSIONAL): {"fp64": 8, "fp32": 256},
    ("6.0", PROFESSIONAL): {"fp64": 64, "fp32": 128, "fp16": 256},
    ("6.1", GEFORCE): {"fp64": 8, "fp32": 256, "fp16": 4, "int8": 1024},
    ("7.0", PROFESSIONAL): {"fp64": 64, "fp32": 128, "fp16": 256, "fp16_tensor": 1024, "int8": 512},
    ("7.2", PROFESSIONAL): {"fp64": 64, "fp32": 128, "fp16": 256, "fp16_tensor": 1024, "int8": 2048},
    ("7.5", GEFORCE): {"fp64": 4, "fp32": 128, "fp16": 256, "fp16_tensor": 512, "int8": 2048},
    ("7.5", PROFESSIONAL): {"fp64": 4, "fp32": 128, "fp16": 256, "fp16_tensor": 1024, "int8": 2048},
    ("7.5", NO_TENSOR_CORES): {"fp64": 4, "fp32": 128, "fp16": 256, "int8": 512},
    ("8.0", PROFESSIONAL): A100,
    ("8.6", GEFORCE): AMPERE_GEFORCE,
    ("8.6", PROFESSIONAL): AMPERE_PROFESSIONAL,
    ("8.7", PROFESSIONAL): A100 | {"fp64": 4, "fp32": 256},
    ("8.9", GEFORCE): AMPERE_GEFORCE | {"fp8": 1024},
    ("8.9", PROFESSIONAL): AMPERE_PROFESSIONAL | {"fp8": 2048},
    ("11.0", PROFESSIONAL): {
        "fp64": 4,
        "fp32": 256,
        "tf32": 4096,
        "fp16": 512,
        "fp16_tensor": 8192,
        "bf16": 8192,
        "int8": 16384,
        "fp8": 16384,
    },
    ("12.0", GEFORCE): AMPERE_GEFORCE | {"fp8": 1024},
    ("12.0", PROFESSIONAL): AMPERE_PROFESSIONAL | {"fp8": 2048},
    ("12.1", PROFESSIONAL): AMPERE_PROFESSIONAL | {"fp8": 2048},
}
# Boards whose rates are not those of their SMs at the boost clock, each with what its data sheet says instead: Hopper
# and Blackwell of the data centre run tensor cores at a lower clock; the A10G, the L40 and the H20 are limited.
BY_DATA_SHEET = {"a10g": {"fp16_tensor": 70, "int8": 140, "tf32": 35}}
BY_DATA_SHEET |= {"l40": {"fp16_tensor": 181, "fp8": 362, "int8": 362, "tf32": 90.5}}
BY_DATA_SHEET |= {"l20": {"fp16_tensor": 119.5, "tf32": 59.8, "int8": 239, "fp8": 239}}
BY_DATA_SHEET |= {"h20": {"fp16_tensor": 148, "fp8": 296, "fp32": 44}}
BY_DATA_SHEET |= dict.fromkeys(("h100", "h800", "h200", "gh200"), {"fp16_tensor": 989, "fp8": 1979, "tf32": 495})
BY_DATA_SHEET |= {"h100-pcie": {"fp16_tensor": 756, "fp8": 1513, "tf32": 378}, "h100-nvl": {"fp16_tensor": 835}}
BY_DATA_SHEET |= {"h200-nvl": {"fp16_tensor": 835, "fp8": 1671}}
BY_DATA_SHEET |= {"b200": {"fp16_tensor": 2250}, "gb200": {"fp16_tensor": 2500, "fp8": 5000}}
BY_DATA_SHEET |= {"b300": {"fp16_tensor": 2250, "fp8": 4500, "fp64": 1.25}}
BY_DATA_SHEET |= {"gb300": {"fp16_tensor": 2500, "fp8": 5000, "tf32": 1250}}

# GB of one memory chip (GDDR) or stack (HBM), of so many bits each; GDDR boards may have chips on both sides, and half
# of the width for each.
GDDR_CHIPS, HBM_STACKS = (0.5, 1, 2, 3), (4, 8, 16, 18, 24, 36)


def kind_of(card):
    rates, capability = card["rates"], card["compute_capability"]
    if capability == "7.5" and "fp16_tensor" not in rates:
        return NO_TENSOR_CORES
    if (capability, GEFORCE) not in OPERATIONS:
        return PROFESSIONAL
    is_geforce = card["category"] in ("desktop", "laptop")
    has_both = (capability, PROFESSIONAL) in OPERATIONS
    # The TITAN RTX has the rates of a Quadro, whose chip it has.
    return GEFORCE if (is_geforce and card["key"] != "titanrtx") or not has_both else PROFESSIONAL


def nominal_gb(card):
    gib = card["memory_bytes"] / 2**30
    return min(size for size in MARKETING_SIZES if size > gib)


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
DRIVER_NAME = re.compile(r"^((NVIDIA|Tesla|Quadro) |(Orin|Xavier)$)")
MARKETING_SIZES = [2, 3, 4, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 80, 94, 96, 128, 141, 180, 186, 270, 288]

each_card = pytest.mark.parametrize("card", CARDS, ids=lambda card: card["key"])


def squeeze(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def test_a_slow_machine_runs_these_too(root: Path):
    """They take seconds, and a wrong figure is in every answer about its card."""
    sys.path.insert(0, str(root / "tools"))
    from suite import python_tests

    assert Path(__file__).parent == root / "tests" / "project"
    (section,) = [section for section in python_tests.SECTIONS if section.name == "project tests"]
    assert not section.may_be_left_out
    assert {"quick", "ci"} <= set(section.tiers)


def test_the_catalogue_reaches_from_kepler_to_blackwell_in_every_category():
    assert len(CARDS) >= 151
    assert {card["category"] for card in CARDS} == {"desktop", "laptop", "workstation", "datacenter", "embedded"}
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
    if "fp32" in BY_DATA_SHEET.get(card["key"], {}):
        return
    cores = card["sm_count"] * LIMITS[card["compute_capability"]][4]
    assert card["rates"]["fp32"] == pytest.approx(cores * 2 * card["sm_clock_khz"] / 1e9, rel=0.05)


@each_card
def test_limits_are_those_of_the_compute_capability(card):
    threads, blocks, shared, optin, _ = LIMITS[card["compute_capability"]]
    assert card["max_threads_per_sm"] == threads
    assert card["max_blocks_per_sm"] == blocks
    assert card["registers_per_sm"] == REGISTERS.get(card["compute_capability"], 65536)
    assert card["shared_bytes_per_sm"] == shared * 1024
    assert card["shared_bytes_per_block_optin"] == optin * 1024


@each_card
def test_reported_memory_is_a_little_below_a_marketing_size(card):
    # GDDR cards with ECC always on (T4, A10, L4, L40S) lose a sixteenth; nothing loses more than 8.5 %.
    assert 0.915 * nominal_gb(card) < card["memory_bytes"] / 2**30 < nominal_gb(card)


@each_card
def test_dense_rates_are_operations_per_sm_and_clock(card):
    if card["key"] in BY_DATA_SHEET:
        for number, told in BY_DATA_SHEET[card["key"]].items():
            assert card["rates"][number] == pytest.approx(told, rel=0.025), number
        return
    operations = OPERATIONS[card["compute_capability"], kind_of(card)]
    assert set(card["rates"]) == set(operations)
    for number, per_clock in operations.items():
        computed = card["sm_count"] * card["sm_clock_khz"] * per_clock / 1e9
        assert card["rates"][number] == pytest.approx(computed, rel=0.03), number


@each_card
def test_memory_is_chips_times_the_width_of_the_bus(card):
    if card["is_integrated"]:
        return  # LPDDR packages come in any width
    bits, size = card["memory_bus_bits"], nominal_gb(card)
    if bits < 1024:
        sizes = {bits / 32 * chip * sides for chip in GDDR_CHIPS for sides in (1, 2)}
    else:
        # A part of the stacks' memory may be left out for yield: 94 of 96 GB, 141 of 144, 180 and 186 of 192.
        sizes = {
            bits / 1024 * stack * share
            for stack in HBM_STACKS
            for share in (1, 141 / 144, 180 / 192, 186 / 192, 270 / 288)
        }
        sizes.add(94)  # the H100 NVL's bus is 6016 bits wide
    assert any(size == pytest.approx(one, rel=0.001) for one in sizes), (size, sorted(sizes))


@pytest.mark.parametrize("card", [card for card in CARDS if "mig" in card], ids=lambda card: card["key"])
def test_mig_instances_are_shares_of_the_card(card):
    assert len(card["sources"]["mig"]) > 10
    gib = card["memory_bytes"] / 2**30
    for profile in card["mig"]:
        slices, size = re.fullmatch(r"(\d)g\.(\d+)gb", profile["profile"]).groups()
        share, name = profile["memory_slices"] / profile["of"], profile["profile"]
        memory = profile["memory_mib"] / 1024
        # The name says the share of the memory on the box; what is left of it is a little less, never more.
        assert int(size) == pytest.approx(nominal_gb(card) * share, abs=1), name
        assert 0.85 * int(size) < memory <= gib * share * 1.005, name
        # SMs: sevenths (quarters) of those that MIG leaves, and whole TPCs of two; the whole card's at the most.
        of_slices = {8: 7, 4: 4}[profile["of"]]
        assert profile["sm_count"] <= card["sm_count"], name
        assert profile["sm_count"] % 2 == 0, name
        assert profile["sm_count"] >= int(slices) * (card["sm_count"] * 0.84 // of_slices), name
    memories = [profile["memory_mib"] for profile in card["mig"]]
    assert memories == sorted(memories)


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
    if "fp16_tensor" in rates and generation < 8.0:
        assert "bf16" not in rates
    if generation == 6.1:
        assert rates["fp16"] < rates["fp32"] / 32  # halves are slower than floats there


@each_card
def test_overhead_is_known_for_both_cuda_versions(card):
    for major in ("12", "13"):
        overhead = card["overhead"][major]
        lazy, eager = overhead["context_lazy_bytes"], overhead["context_eager_bytes"]
        assert 40 * 2**20 < lazy < 700 * 2**20  # 6 SMs of a T400 add 11 MiB to the 31 of any
        assert lazy + 512 * 2**20 < eager < 2.5 * 2**30
        assert 24 * 2**20 <= overhead["context_uncertainty_bytes"] <= 107 * 2**20
        if f"cu{major}" in card["sources"]:  # measured on a card itself
            continue
        threads = card["sm_count"] * card["max_threads_per_sm"]
        # Fitted by bench/published/library_memory.py; one measured on a card itself would be named in its sources.
        assert overhead["kernel_bytes"] == threads * (540 if card["compute_capability"] == "9.0" else 330)
        assert overhead["library_bytes"] == 11 * 2**20
        assert eager + overhead["kernel_bytes"] + 4 * overhead["library_bytes"] < card["memory_bytes"]


@each_card
def test_overhead_is_what_the_rules_give_unless_it_was_measured(card):
    if "measured" in card["sources"]["context"]:
        return
    words = [str(card["sm_count"]), str(card["max_threads_per_sm"]), card["compute_capability"]]
    tool = CATALOGUE.parents[2] / "tools" / "card_overhead"
    printed = subprocess.run([sys.executable, tool, *words], capture_output=True, text=True, check=True).stdout
    rules = tomllib.loads(printed)["card"]["overhead"]
    of_rules = [major for major in rules if f"cu{major}" not in card["sources"]]  # the others were measured
    assert {major: rules[major] for major in of_rules} == {major: card["overhead"][major] for major in of_rules}


@each_card
def test_every_figure_has_a_source(card):
    of_some = {figure for figure, field in {"mig": "mig", "power": "power_limit_watts"}.items() if field in card}
    of_some |= {f"cu{major}" for major in card["overhead"]} & set(card["sources"])
    assert set(card["sources"]) == SOURCES | of_some
    assert all(len(text) > 10 for text in card["sources"].values())


@each_card
def test_power_is_that_of_one_board_and_of_no_laptop(card):
    if "power_limit_watts" not in card:
        return
    assert card["category"] != "laptop", "its maker chooses"
    assert not card["is_integrated"], "the whole module has it"
    assert 25 <= card["power_limit_watts"] <= 1400


def test_most_boards_tell_their_power():
    own = [card for card in CARDS if card["category"] not in ("laptop", "embedded")]
    assert len([card for card in own if "power_limit_watts" in card]) > 0.9 * len(own)


def test_a_laptops_successor_is_no_slower():
    # Nobody's clock is that of a thin laptop and nobody's that of a thick one: all are at the top of NVIDIA's range.
    by_key = {card["key"]: card["rates"]["fp32"] for card in CARDS}
    laptops = [key for key in by_key if re.fullmatch(r"rtx[3-5]0\d\d(ti)?-laptop", key)]
    pairs = {key: f"rtx{int(key[3:5]) + 10}{key[5:]}" for key in laptops}
    slower = {key: later for key, later in pairs.items() if later in by_key and by_key[later] <= by_key[key]}
    assert slower == {}
    assert sum(later in by_key for later in pairs.values()) >= 6


@each_card
def test_name_is_the_drivers(card):
    assert DRIVER_NAME.match(card["name"])
    assert re.fullmatch(r"[a-z0-9-]+", card["key"])
    assert 2014 <= card["release_year"] <= 2026
    assert 0 < card["price_factor"] < 20


def test_price_scale_is_anchored():
    factors = {card["key"]: card["price_factor"] for card in CARDS}
    assert factors["rtx3090"] == 1.0
    assert factors["a100-80gb"] == 3.5
