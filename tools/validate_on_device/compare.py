"""Two result files side by side: equal to the byte, or which requests make the difference."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

PEAKS = ("allocated_bytes", "reserved_bytes")


@dataclass
class Difference:
    workload: str
    kind: str
    """equal, requests, explained, benchmark, unexplained, failed (on one side), or missing.

    requests: the peaks are equal, and some part of the workload asked for other blocks.
    """
    lines: list[str]


def compare(first: dict, second: dict) -> list[Difference]:
    """One entry per workload of either file. `explained` names the requests that only one side made."""
    names = list(dict.fromkeys([*first["workloads"], *second["workloads"]]))
    return [compare_row(name, first["workloads"].get(name), second["workloads"].get(name)) for name in names]


def compare_row(name: str, a: dict | None, b: dict | None) -> Difference:
    if a is None or b is None:
        return Difference(name, "missing", [f"only in the {'second' if a is None else 'first'} file"])
    if a["status"] != "ok" or b["status"] != "ok":
        same = a["status"] == b["status"] and a.get("error") == b.get("error")
        lines = [f"{row['status']}: {row.get('error', '')}" for row in (a, b)]
        return Difference(name, "equal" if same else "failed", lines[:1] if same else lines)
    if "allocated_bytes" not in a:
        return compare_facts(name, a, b)
    lines = [f"{which}: {of(a)} and {of(b)} ({of(b) - of(a):+d})" for which, of in PEAKS_OF.items() if of(a) != of(b)]
    requests = unequal_parts(a.get("parts", {}), b.get("parts", {}))
    requests = requests or unequal_counts("block", a["blocks"], b["blocks"])
    if lines:
        requests += unequal_counts("segment", a["segment_sizes"], b["segment_sizes"])
    if not lines and not requests:
        return Difference(name, "equal", [])
    kind = ("explained" if requests else "unexplained") if lines else "requests"
    if a.get("benchmark"):
        kind = "benchmark"
    return Difference(name, kind, lines + requests)


def peak_allocated(row: dict) -> int:
    """Each part begins with a peak of its own."""
    return max([row["allocated_bytes"], *(part["peak_bytes"] for part in row.get("parts", {}).values())])


PEAKS_OF = {"allocated_bytes": peak_allocated, "reserved_bytes": lambda row: row["reserved_bytes"]}


def compare_facts(name: str, a: dict, b: dict) -> Difference:
    """A probe of the driver: each answer that differs."""
    flat_a, flat_b = flatten(a), flatten(b)
    unequal = [key for key in dict.fromkeys([*flat_a, *flat_b]) if flat_a.get(key) != flat_b.get(key)]
    lines = [f"{key}: {flat_a.get(key)} and {flat_b.get(key)}" for key in unequal]
    return Difference(name, "explained" if lines else "equal", lines)


def flatten(value: object, key: str = "") -> dict[str, object]:
    if isinstance(value, dict):
        return {
            k: v for name, item in value.items() for k, v in flatten(item, f"{key}.{name}" if key else name).items()
        }
    return {key: value}


def unequal_parts(a: dict[str, dict], b: dict[str, dict], most: int = 8) -> list[str]:
    """The parts that asked for other blocks, or in another order."""
    rows = [
        f"{name}: {asked_text(part['asked'])} and {asked_text(b[name]['asked']) if name in b else 'nothing'}"
        for name, part in a.items()
        if name not in b or part["asked"] != b[name]["asked"]
    ]
    return rows[:most] + ([f"and {len(rows) - most} more parts"] if len(rows) > most else [])


def asked_text(asked: list) -> str:
    if len(asked) == 3 and isinstance(asked[2], str):
        return f"{asked[0]} blocks of {asked[1]} bytes in all"
    return str(asked)


def unequal_counts(what: str, a: dict[str, int], b: dict[str, int], most: int = 8) -> list[str]:
    """The sizes that one side asked for more often, largest bytes first."""
    extra = {int(size): b.get(size, 0) - a.get(size, 0) for size in {*a, *b}}
    rows = sorted((item for item in extra.items() if item[1]), key=lambda item: -abs(item[0] * item[1]))
    lines = [f"{what} of {size} bytes: {count:+d} in the second" for size, count in rows[:most]]
    if len(rows) > most:
        lines.append(f"and {len(rows) - most} more {what} sizes")
    return lines


def summary(first: dict, second: dict) -> list[str]:
    """How near the peaks of the second are to those of the first, workloads in benchmark mode left out."""
    pairs = [
        (row, second["workloads"][name])
        for name, row in first["workloads"].items()
        if row["status"] == "ok"
        and "allocated_bytes" in row
        and not row.get("benchmark")
        and second["workloads"].get(name, {}).get("status") == "ok"
    ]
    lines = []
    for which, of in PEAKS_OF.items() if pairs else ():
        off = [abs(of(b) - of(a)) / max(of(a), 1) for a, b in pairs]
        near = ", ".join(f"{sum(x <= limit for x in off)} within {limit:.1%}" for limit in (0.005, 0.02, 0.05))
        spread = f"median {statistics.median(off):.2%}, largest {max(off):.1%}"
        lines.append(f"{which} of {len(off)}: {sum(x == 0 for x in off)} equal to the byte, {near}; {spread}")
    return lines


def render(first: dict, second: dict, differences: list[Difference]) -> str:
    out = []
    for label, result in (("first", first), ("second", second)):
        where = result["provenance"]
        kind = "virtual" if where["virtual"] else "real"
        out.append(f"{label}: {where['card']['name']} ({kind}), torch {where['torch']}, cuDNN {where['card']['cudnn']}")
    for difference in differences:
        if difference.kind != "equal":
            out.append(f"{difference.workload}: {difference.kind}")
            out += [f"    {line}" for line in difference.lines]
    out += summary(first, second)
    kinds = [difference.kind for difference in differences]
    out.append(", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)))
    return "\n".join(out)
