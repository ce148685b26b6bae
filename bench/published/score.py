"""Scores what the ladders gave against what was measured, and prints the table of the documentation.

    python bench/published/score.py --timm timm.json --bert bert.json --litgpt litgpt.json --mmseg mmseg.json
    python bench/published/score.py --run ./vramfit --python PYTHON --python-v100 PYTHON12     runs the ladders first

PyTorch for CUDA 13 refuses a V100, on a virtual one too: PYTHON12 has a build for CUDA 12.

timm: exact (the same largest batch), one step (the neighbouring rung, too small), unsafe (larger than what ran). Two
measurements with neighbouring PyTorch versions agree exactly on 92 % of rows and within one step on 99 %.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures" / "published"
LADDER = [512, 384, 256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1]
JOBS = {
    # Contexts as the measurements had them: eager loading on an RTX 3090 in the CUDA 11 era (PyTorch issue 49877:
    # 1644 MiB with a 40 MiB tensor), and the V100's as the guide itself states.
    "timm": ("rtx3090", "1604MiB", "timm_ladder.py", "timm_train_rtx3090.csv"),
    "bert": ("v100-16gb", "1343MiB", "bert_ladder.py", "bert_large_ladder.csv"),
    "litgpt": ("a10g", None, "litgpt_ladder.py", "litgpt_finetune.csv"),
    "mmseg": ("v100-32gb", None, "mmseg_ladder.py", "mmsegmentation_training.csv"),
}


def classify(measured: int, here: int) -> str:
    """exact, one step, far (safe but more than one rung too small) or unsafe."""
    if here == measured:
        return "exact"
    if here > measured:
        return "unsafe"
    rungs = LADDER + [0]
    return "one step" if rungs.index(here) == rungs.index(measured) + 1 else "far"


def effort_of(row: dict) -> str:
    """Whether the largest batch here only ran after PyTorch had given its cache back: at the card's very end."""
    found = row.get("tried", {}).get(str(row["largest"]), {})
    return ", after emptying the cache" if found.get("retries") else ""


def score_timm(results: dict[str, dict]) -> list[str]:
    rows = {name: row for name, row in results.items() if row["status"] == "ok"}
    kinds = {name: classify(row["measured"], row["largest"]) for name, row in rows.items()}
    lines = ["| timm largest batch, RTX 3090, fp16 autocast | models | share |", "|---|---|---|"]
    for kind in ("exact", "one step", "far", "unsafe"):
        count = sum(1 for found in kinds.values() if found == kind)
        lines.append(f"| {kind} | {count} | {100 * count / max(len(rows), 1):.0f} % |")
    others = sorted(name for name, row in results.items() if row["status"] == "another model")
    if others:
        lines.append(f"| another model has the name today: {', '.join(others)} | {len(others)} | |")
    failed = sorted(set(results) - set(rows) - set(others))
    if failed:
        lines.append(f"| could not run here: {', '.join(failed)} | {len(failed)} | |")
    for name, kind in kinds.items():
        if kind != "exact":
            row = rows[name]
            lines.append(f"\n{name}: {row['measured']} measured, {row['largest']} here ({kind}{effort_of(row)})")
    return lines


def score_bert(results: list[dict]) -> list[str]:
    lines = [
        "| BERT-large on a V100: batch, precision, optimizer | measured | here | difference |",
        "|---|---|---|---|",
    ]
    errors = []
    for row in results:
        name = f"{row['batch']} x {row['accumulate']}, {row['precision']}, {row['optimizer']}"
        name += ", checkpointed" if int(row["checkpoint"]) else ""
        if row["status"] != "ok":
            lines.append(f"| {name} | {row['device_mib']} MiB | {row['status']} | |")
            continue
        measured, here = int(row["device_mib"]), row["device_bytes"] / 2**20
        errors.append(100 * (here / measured - 1))
        lines.append(f"| {name} | {measured} MiB | {here:.0f} MiB | {errors[-1]:+.1f} % |")
    return lines + sum_up(errors)


def score_litgpt(results: list[dict]) -> list[str]:
    lines = ["| LitGPT fine-tuning on an A10G | measured | here | difference |", "|---|---|---|---|"]
    errors = []
    for row in results:
        measured = row["allocated_gb"]
        if measured == "OOM" or row["status"] != "ok":
            here = (
                f"{row['allocated_bytes'] / 1e9:.2f} GB" if row["status"] == "ok" else row["status"].replace("_", " ")
            )
            measured = "out of memory" if measured == "OOM" else f"{measured} GB"
            lines.append(f"| {row['configuration']} | {measured} | {here} | |")
            continue
        errors.append(100 * (row["allocated_bytes"] / 1e9 / float(measured) - 1))
        lines.append(
            f"| {row['configuration']} | {measured} GB | {row['allocated_bytes'] / 1e9:.2f} GB | {errors[-1]:+.1f} % |"
        )
    return lines + sum_up(errors)


LOGGED_GB = 1000 << 20  # MMSegmentation logs MiB; its tables give thousands of them as GB
FAR = 30.0  # percent


def score_mmseg(results: list[dict]) -> list[str]:
    """By optimizer, which tells convolutional networks (SGD) from those with attention (AdamW)."""
    lines = [
        "| MMSegmentation on V100s, by optimizer | models | within 5 % | within 10 % | within 20 % | median error |",
        "|---|---|---|---|---|---|",
    ]
    far, unable = [], []
    for optimizer in sorted({row["optimizer"] for row in results}, reverse=True):
        errors = []
        for row in results:
            if row["optimizer"] != optimizer:
                continue
            name = row["config"].rpartition("/")[2]
            if row["status"] != "ok":
                unable.append(name)
                continue
            measured = float(row["max_memory_allocated_gb"]) * LOGGED_GB
            errors.append(100 * (row["allocated_bytes"] / measured - 1))
            if abs(errors[-1]) > FAR:
                far.append(f"{name} {errors[-1]:+.0f} %")
        if errors:
            shares = [100 * sum(abs(error) <= most for error in errors) / len(errors) for most in (5, 10, 20)]
            cells = " | ".join(f"{share:.0f} %" for share in shares)
            median = statistics.median(errors)
            lines.append(f"| {optimizer or 'not said'} | {len(errors)} | {cells} | {median:+.1f} % |")
    lines += [f"\nmore than {FAR:.0f} % off: {', '.join(far)}", f"\ncould not run here: {', '.join(unable)}"]
    return lines


def sum_up(errors: list[float]) -> list[str]:
    if not errors:
        return []
    return [f"\nmedian error {statistics.median(map(abs, errors)):.1f} %, largest {max(map(abs, errors)):.1f} %"]


def run_ladder(name: str, vramfit: str, python: str, out: Path) -> float:
    """Runs one ladder on its virtual card; returns its seconds."""
    card, context, script, rows = JOBS[name]
    command = [vramfit, "run", "--gpu", card, *(["--context", context] if context else [])]
    command += ["--steps", "all", "--", python]
    command += [str(ROOT / "bench" / "published" / script), str(FIXTURES / rows), "--out", str(out)]
    started = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL)
    if not out.exists():
        sys.exit(f"{name}: vramfit ended with {done.returncode} and no results")
    return time.monotonic() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--timm", type=Path)
    parser.add_argument("--bert", type=Path)
    parser.add_argument("--run", metavar="VRAMFIT", help="the vramfit command")
    parser.add_argument("--litgpt", type=Path)
    parser.add_argument("--mmseg", type=Path)
    parser.add_argument("--python", default=sys.executable, help="with torch, timm and litgpt")
    parser.add_argument(
        "--python-v100", help="with transformers, mmsegmentation and a torch for CUDA 12 (default: --python)"
    )
    args = parser.parse_args()
    files = {"timm": args.timm, "bert": args.bert, "litgpt": args.litgpt, "mmseg": args.mmseg}
    v100 = args.python_v100 or args.python
    interpreters = {"timm": args.python, "bert": v100, "litgpt": args.python, "mmseg": v100}
    scores = {"timm": score_timm, "bert": score_bert, "litgpt": score_litgpt, "mmseg": score_mmseg}
    with tempfile.TemporaryDirectory() as scratch:
        for name, file in files.items():
            if args.run and file is None:
                files[name] = Path(scratch) / f"{name}.json"
                seconds = run_ladder(name, args.run, interpreters[name], files[name])
                print(f"{name}: {seconds:.0f} s", file=sys.stderr)
        for name, score in scores.items():
            if files[name] is not None:
                print("\n".join(score(json.loads(files[name].read_text()))) + "\n")


if __name__ == "__main__":
    main()
