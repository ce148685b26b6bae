"""Plans of one technique each, applied to an ordinary script on a card, real or virtual, and two such results compared.

python tools/validate_on_device/plans.py --vramfit VRAMFIT --gpu real OUT.json
python tools/validate_on_device/plans.py --vramfit VRAMFIT --gpu H200 OUT.json
python tools/validate_on_device/plans.py --compare REAL.json VIRTUAL.json
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().with_name("plan_job.py")
BLOCKS = [f"transformer.h.{i}" for i in range(12)]
AUTOCAST = {"id": "autocast", "dtype": "bfloat16", "scaler": False}
PARTS = {"id": "micro_batch", "micro_batch": 4, "accumulate": 4}
CHECKPOINT = {"id": "checkpoint", "modules": BLOCKS}
CHUNKED = {"id": "chunked_loss", "linear": 50257}
PLANS: dict[str, list[dict]] = {
    "none": [],
    "autocast": [AUTOCAST],
    "micro_batch": [PARTS],
    "checkpoint": [CHECKPOINT],
    "checkpoint, products kept": [CHECKPOINT | {"keep": "products"}],
    "offload_activations": [{"id": "offload_activations"}],
    "offload_optimizer": [{"id": "offload_optimizer"}],
    "chunked_loss": [{"id": "chunked_loss"}],
    "chunked_loss with its layer": [CHUNKED],
    "release_gradients": [{"id": "release_gradients"}],
    "four at once": [PARTS, AUTOCAST, CHECKPOINT, CHUNKED],
}


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path)
    parser.add_argument("--vramfit", default="vramfit")
    parser.add_argument("--gpu", default="real")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("REAL", "VIRTUAL"))
    return parser.parse_args()


def run(args: argparse.Namespace, name: str, folder: Path) -> dict:
    plan, result = folder / "plan.json", folder / "result.json"
    plan.write_text(json.dumps({"version": 2, "name": name, "techniques": PLANS[name]}))
    options = ["--gpu", args.gpu, "--steps", "all", "--json", str(result)] + (
        ["--plan", str(plan)] if PLANS[name] else []
    )
    command = [args.vramfit, "run", *options, "--", sys.executable, str(SCRIPT)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    row: dict = {"returncode": done.returncode}
    for line in done.stdout.splitlines():
        words = line.split()
        if words[:1] == ["LOSSES"]:
            row["losses"] = [float(word) for word in words[1:]]
        if words[:1] == ["STEP"]:
            row |= {"step": float(words[1]), "allocated": int(words[2]), "reserved": int(words[3])}
    if result.exists():
        row["estimated_step_seconds"] = json.loads(result.read_text()).get("estimated_step_seconds")
    return row


def loss_difference(row: dict, base: dict) -> float:
    """The largest difference of a batch's loss; of batches in parts, of their mean."""
    losses, wanted = row["losses"], base["losses"]
    parts = len(losses) // len(wanted)
    means = [sum(losses[i * parts : (i + 1) * parts]) / parts for i in range(len(wanted))]
    return max(abs(a - b) for a, b in zip(means, wanted))


def compare(real: dict, virtual: dict) -> None:
    print(
        "| plan | allocated, real / virtual | reserved, real / virtual | losses differ from none | step, real | said |"
    )
    print("|---|---|---|---|---|---|")
    for name, a in real.items():
        b, said = virtual[name], virtual[name].get("estimated_step_seconds") or {}
        spans = f"{said['low']:.3f} to {said['high']:.3f}" if said else "-"
        pairs = (f"{a[key]} / {'equal' if a[key] == b[key] else b[key]}" for key in ("allocated", "reserved"))
        parts = max(len(a["losses"]) // len(real["none"]["losses"]), 1)
        off, seconds = loss_difference(a, real["none"]), a["step"] * parts
        print(f"| {name} | {' | '.join(pairs)} | {off:.5f} | {seconds:.3f} s | {spans} |")


def main() -> int:
    args = parse_args()
    if args.compare:
        compare(*(json.loads(path.read_text()) for path in args.compare))
        return 0
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in PLANS:
            rows[name] = run(args, name, Path(folder))
            print(name, rows[name]["returncode"], rows[name].get("reserved"), file=sys.stderr, flush=True)
            args.out.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
