"""Measures some seventy workloads on a card, real or virtual, and compares two such measurements.

    python tools/validate_on_device OUT.json             on this machine's card
    vramfit run --gpu H200 --steps all --files shared -- python tools/validate_on_device OUT.json
    python tools/validate_on_device --compare REAL.json VIRTUAL.json

--compare exits with 1 when a workload without benchmark mode differs in a way that its requests don't explain.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from compare import compare, render


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, help="where to write the results")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="workloads with TEXT in their name")
    parser.add_argument("--limit", type=float, default=120.0, metavar="SECONDS", help="for one workload")
    parser.add_argument("--list", action="store_true", help="name the workloads and stop")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("FIRST", "SECOND"))
    args = parser.parse_args()
    if not (args.out or args.list or args.compare):
        parser.error("say where to write the results, or --list, or --compare")
    return args


def measure_all(args: argparse.Namespace) -> int:
    import jobs  # noqa: F401
    import operators  # noqa: F401
    from measure import measure, provenance
    from registry import WORKLOADS

    chosen = [w for w in WORKLOADS.values() if not args.only or any(text in w.name for text in args.only)]
    if args.list:
        print("\n".join(w.name for w in chosen))
        return 0
    result: dict = {"version": 1, "provenance": provenance(), "workloads": {}}
    for index, workload in enumerate(chosen, start=1):
        row = measure(workload, args.limit)
        row["benchmark"] = workload.benchmark
        result["workloads"][workload.name] = row
        peak = f"{row['allocated_bytes'] / 2**20:.1f} MiB" if row["status"] == "ok" else row["error"]
        print(f"[{index}/{len(chosen)}] {workload.name}: {row['status']}, {peak}", file=sys.stderr, flush=True)
        args.out.write_text(json.dumps(result, indent=1))  # after each: an interrupted run leaves what it has
    return 0


def compare_files(paths: list[Path]) -> int:
    first, second = (json.loads(path.read_text()) for path in paths)
    differences = compare(first, second)
    print(render(first, second, differences))
    return 1 if any(d.kind in ("unexplained", "failed", "missing") for d in differences) else 0


def main() -> int:
    args = parse_args()
    return compare_files(args.compare) if args.compare else measure_all(args)


if __name__ == "__main__":
    sys.exit(main())
