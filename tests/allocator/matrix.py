"""The matrix of settings that both allocators are compared over."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

from actions import Plan

EXPANDABLE = "expandable_segments:True"
TOGGLED = [EXPANDABLE, "expandable_segments:False"]

# What a release lacks is left out for it: (first release, plan without name, seed and calls).
SETTINGS: list[tuple[tuple[int, int], dict[str, Any]]] = [
    ((2, 1), {}),
    ((2, 1), {"fraction": 0.5}),
    ((2, 1), {"conf": EXPANDABLE}),
    ((2, 1), {"later_conf": TOGGLED}),
    ((2, 1), {"conf": "max_split_size_mb:21"}),
    ((2, 10), {"conf": "max_split_size_mb:20"}),
    ((2, 1), {"conf": "max_split_size_mb:64"}),
    ((2, 6), {"conf": "max_split_size_mb:32,max_non_split_rounding_mb:80"}),
    ((2, 1), {"conf": "roundup_power2_divisions:4"}),
    ((2, 1), {"conf": "roundup_power2_divisions:[1:16,4:8,64:2,>:1]"}),
    ((2, 1), {"conf": f"{EXPANDABLE},roundup_power2_divisions:[256:1,512:2,1024:4,>:8]"}),
    ((2, 1), {"conf": "garbage_collection_threshold:0.3", "fraction": 0.6}),
    ((2, 1), {"conf": "garbage_collection_threshold:0.8,max_split_size_mb:40", "fraction": 0.9}),
    ((2, 10), {"conf": f"garbage_collection_threshold:0.5,{EXPANDABLE}", "fraction": 0.7, "later_conf": TOGGLED}),
    # Before 2.8 an assertion of PyTorch's own fails with these two together (pytorch issue 119452).
    ((2, 8), {"conf": f"max_split_size_mb:48,{EXPANDABLE}"}),
    ((2, 10), {"conf": "large_segment_size_mb:64"}),
    ((2, 10), {"conf": f"large_segment_size_mb:34,{EXPANDABLE}"}),
    ((2, 12), {"conf": "throw_on_cudamalloc_oom:True,per_process_memory_fraction:0.4"}),
]
SHAPES: list[dict[str, Any]] = [
    {"streams": 2, "sizes": "mixed"},
    {"streams": 1, "sizes": "large", "fill": 1.15},
    {"streams": 1, "sizes": "small", "fill": 0.1},
    {"streams": 3, "sizes": "edges", "fill": 1.0},
    {"streams": 2, "sizes": "steady"},
    {"streams": 3, "sizes": "mixed", "uses": True, "fill": 0.6},
    {"streams": 3, "sizes": "large", "uses": True, "fill": 1.1},
    {"streams": 2, "sizes": "mixed", "pools": 5, "fill": 0.5},
    {"streams": 2, "sizes": "mixed", "graphs": True, "fill": 0.5},
    {"streams": 3, "sizes": "edges", "graphs": True, "uses": True, "pools": 3, "fill": 0.9},
]


def plans(version: tuple[int, int], calls: int, seed: int, every: int = 1) -> list[Plan]:
    """Every setting with every shape; with `every`, only each so many-th of these, so that all settings still occur."""
    chosen = []
    settings = [fields for since, fields in SETTINGS if version >= since]
    for number, (setting, shape) in enumerate(itertools.product(settings, SHAPES)):
        if number % every == seed % every:
            fields = {**shape, **setting}
            chosen.append(Plan(**fields, name=f"{number:03d}", seed=seed * 1000 + number, calls=calls))
    return chosen


def as_json(chosen: list[Plan]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(plan) for plan in chosen]
