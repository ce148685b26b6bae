"""Fuzzing of everything that reads bytes from outside, from the kept corpora on."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor

from . import building
from .section import ROOT, TIME_LIMIT, Outcome, Section, run_check

SECONDS = {"ci": 60, "all": 180}  # for each fuzzer
WORDS = {"notes": ROOT / "build" / "fuzz" / "generated" / "notes.dict"}  # tools/generate_contract makes it
SEEDS = {"cards": [ROOT / "src" / "devices" / "cards.toml"]}  # besides fuzz/corpus/NAME


def run_fuzzer(name: str, seconds: int, tier: str) -> Outcome:
    """What it finds anew lands in build/fuzz; a crashing input is named in the output and can join the corpus."""
    folder = ROOT / "build" / "fuzz" / "corpus" / name
    folder.mkdir(parents=True, exist_ok=True)
    kept = ROOT / "fuzz" / "corpus" / name
    for seed in [*(kept.iterdir() if kept.exists() else []), *SEEDS.get(name, [])]:
        shutil.copy(seed, folder / seed.name)
    program = ROOT / "build" / "fuzz" / "fuzzers" / f"fuzz_{name}"
    is_late = TIME_LIMIT.is_up()  # then what is kept is tried once, and nothing is looked for
    limits = [
        "-runs=0" if is_late else f"-max_total_time={seconds}",
        "-rss_limit_mb=2048",
        "-timeout=30",  # they wait for a core now and then
        f"-artifact_prefix={folder}/../{name}-",
    ]
    if tier == "ci":  # a change is judged by the inputs of the change before it; new ones are looked for by --all
        limits.append("-seed=1")
    if name in WORDS:
        limits.append(f"-dict={WORDS[name]}")
    outcome = run_check(["nice", str(program), *limits, str(folder)])
    outcome.left_out = int(is_late)
    return outcome


def run_fuzzers(tier: str) -> Outcome:
    """Runs as many at once as there are cores. They leave the tests beside them what those need of the processor."""
    seconds = int(os.environ.get("VRAMFIT_FUZZ_SECONDS", SECONDS[tier]))
    total = run_check(["tools/set_up", "fuzz"])
    if not total.failed:
        total += building.build("fuzz", ("fuzzers",), is_beside=True)
    if total.failed:
        return total
    names = sorted(source.stem for source in (ROOT / "fuzz").glob("*.cc"))
    with ThreadPoolExecutor(building.count_jobs()) as lanes:
        return sum(lanes.map(lambda name: run_fuzzer(name, seconds, tier), names), total)


SECTIONS = [Section("fuzzers", run_fuzzers, tiers=("ci", "all"), is_unnoticed=True)]
