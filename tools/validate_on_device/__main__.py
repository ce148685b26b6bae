"""Measures workloads on a card, real or virtual, and compares two such measurements.

    python tools/validate_on_device OUT.json             on this machine's card
    vramfit run --gpu H200 --steps all --files shared -- python tools/validate_on_device OUT.json
    python tools/validate_on_device --compare REAL.json VIRTUAL.json

Suites (`--suite`, "workloads" unless told): workloads, seventy operators and jobs of our own; published_operators,
PyTorch's own list of operators with their samples; networks, those of torchvision and transformers; libraries, what
each library holds; shapes, libraries' work areas at many sizes; driver, what the driver and NVML answer. `--shard I/N`
takes every N-th, to run N side by side; `--merge` joins their results.

--compare exits with 1 when a workload without benchmark mode differs in a way that its requests don't explain.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from compare import compare, render

SUITES = ("workloads", "published_operators", "networks", "libraries", "shapes", "driver")


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, help="where to write the results")
    parser.add_argument("--suite", action="append", choices=SUITES, help="which workloads; may be given again")
    parser.add_argument("--shard", default="0/1", metavar="I/N", help="every N-th workload from the I-th on")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="workloads with TEXT in their name")
    parser.add_argument("--limit", type=float, default=120.0, metavar="SECONDS", help="for one workload")
    parser.add_argument("--list", action="store_true", help="name the workloads and stop")
    parser.add_argument("--begin", type=int, default=0, metavar="N", help="go on in OUT.json from the N-th on")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("FIRST", "SECOND"))
    parser.add_argument(
        "--merge", nargs="+", type=Path, metavar="SHARD", help="join results into OUT: --merge A B -- OUT"
    )
    args = parser.parse_args()
    if not (args.out or args.list or args.compare):
        parser.error("say where to write the results, or --list, or --compare")
    args.suite = args.suite or ["workloads"]
    return args


def measure_all(args: argparse.Namespace) -> int:
    if {"workloads"} & set(args.suite):
        import jobs  # noqa: F401
        import operators  # noqa: F401
    for suite in ("published_operators", "networks", "libraries", "shapes"):
        if suite in args.suite:
            __import__(suite)
    from driver import PROBES
    from measure import measure, probe, provenance, run_here
    from registry import WORKLOADS

    named = list(WORKLOADS) + [f"driver/{name}" for name in PROBES if "driver" in args.suite]
    shard, shards = (int(text) for text in args.shard.split("/"))
    chosen = [name for name in named if not args.only or any(text in name for text in args.only)][shard::shards]
    if args.list:
        print("\n".join(chosen))
        return 0
    result: dict = {"version": 2, "provenance": provenance(), "workloads": {}}
    if args.begin:
        result = json.loads(args.out.read_text())
    for index, name in enumerate(chosen[args.begin :], start=args.begin + 1):
        if name.startswith("driver/"):
            row = probe(name.removeprefix("driver/"), args.limit)
        elif WORKLOADS[name].suite == "published_operators":  # importing the list touches the card: no fork can
            row = run_here(WORKLOADS[name])
        else:
            row = measure(WORKLOADS[name], args.limit)
            row["benchmark"] = WORKLOADS[name].benchmark
        result["workloads"][name] = row
        peak = f"{row['allocated_bytes'] / 2**20:.1f} MiB" if "allocated_bytes" in row else row.get("error", "")
        print(f"[{index}/{len(chosen)}] {name}: {row['status']}, {peak}", file=sys.stderr, flush=True)
        args.out.write_text(json.dumps(result))  # after each: an interrupted run leaves what it has
        if "CUDA error" in row.get("error", "") or "AcceleratorError" in row.get("error", ""):
            # A context that met an error answers nothing any more.
            known = [arg for arg in sys.argv[1:] if not arg.startswith("--begin")]
            os.execv(sys.executable, [sys.executable, *sys.argv[:1], *known, f"--begin={index}"])
    return 0


def read_result(path: Path) -> dict:
    """A result, or one that was packed with xz."""
    text = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    return json.loads(text)


def merge(shards: list[Path], out: Path) -> int:
    first, *others = (json.loads(path.read_text()) for path in shards)
    for other in others:
        first["workloads"].update(other["workloads"])
    out.write_text(json.dumps(first))
    return 0


def compare_files(paths: list[Path]) -> int:
    first, second = (read_result(path) for path in paths)
    differences = compare(first, second)
    print(render(first, second, differences))
    return 1 if any(d.kind in ("unexplained", "failed", "missing") for d in differences) else 0


def main() -> int:
    args = parse_args()
    if args.merge:
        return merge(args.merge, args.out)
    return compare_files(args.compare) if args.compare else measure_all(args)


if __name__ == "__main__":
    sys.exit(main())
