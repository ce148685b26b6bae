"""Two result files side by side: equal to the byte, or which requests make the difference."""

from __future__ import annotations

from dataclasses import dataclass

PEAKS = ("allocated_bytes", "reserved_bytes")


@dataclass
class Difference:
    workload: str
    kind: str
    """equal, explained, benchmark, unexplained, failed (on one side), or missing"""
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
    if all(a[peak] == b[peak] for peak in PEAKS):
        return Difference(name, "equal", [])
    lines = [f"{peak}: {a[peak]} and {b[peak]} ({b[peak] - a[peak]:+d})" for peak in PEAKS if a[peak] != b[peak]]
    requests = unequal_counts("block", a["blocks"], b["blocks"])
    requests += unequal_counts("segment", a["segment_sizes"], b["segment_sizes"])
    kind = "explained" if requests else "unexplained"
    if a.get("benchmark"):
        kind = "benchmark"
    return Difference(name, kind, lines + requests)


def unequal_counts(what: str, a: dict[str, int], b: dict[str, int], most: int = 8) -> list[str]:
    """The sizes that one side asked for more often, largest bytes first."""
    extra = {int(size): b.get(size, 0) - a.get(size, 0) for size in {*a, *b}}
    rows = sorted((item for item in extra.items() if item[1]), key=lambda item: -abs(item[0] * item[1]))
    lines = [f"{what} of {size} bytes: {count:+d} in the second" for size, count in rows[:most]]
    if len(rows) > most:
        lines.append(f"and {len(rows) - most} more {what} sizes")
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
    kinds = [difference.kind for difference in differences]
    out.append(", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)))
    return "\n".join(out)
