#!/usr/bin/env python3
"""Prints what became of every habit under every technique, as the table in docs/habits.md.

    python tests/habits/table.py [--techniques fp16,bf16] [--habits WORD] [--why]

Run with the Python of an environment that has torch; VRAMFIT_STAGE names the build (build/dev/stage).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import outcomes
from embedding_habits import EMBEDDING_HABITS
from framework_habits import HABITS as FRAMEWORK_HABITS
from hooked_job import Job, WarmPython
from loop_habits import HABITS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--techniques", default=",".join(outcomes.TECHNIQUES))
    parser.add_argument("--habits", default="", help="only those with this word in their name")
    parser.add_argument("--why", action="store_true", help="what each refusal and each difference says")
    asked = parser.parse_args()
    names = asked.techniques.split(",")
    print("| habit | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    dishonest = 0
    with tempfile.TemporaryDirectory() as place:
        warm = WarmPython(Path(place))
        job = Job(Path(place), warm)
        for habit in [habit for habit in HABITS + EMBEDDING_HABITS + FRAMEWORK_HABITS if asked.habits in habit.name]:
            plain = outcomes.train(job, habit, None)
            if plain.exit_code != 0:
                print(f"| {habit.name} | fails as it is: {plain.stderr.strip().splitlines()[-1]} |", flush=True)
                continue
            found = [outcomes.judge(plain, outcomes.train(job, habit, name), name) for name in names]
            for name, outcome in zip(names, found):
                if not outcome.is_honest and outcomes.is_found_by_verify(Path(place), habit, name):
                    outcome.word = "found"
            dishonest += sum(not outcome.is_honest for outcome in found)
            print(f"| {habit.name} | " + " | ".join(outcome.word for outcome in found) + " |", flush=True)
            for name, outcome in zip(names, found):
                if asked.why and outcome.word not in ("equal",):
                    text = outcomes.shortened(outcome.text, 160)
                    print(f"    {name}: {outcome.word} {outcome.distance:.2g} {text}", flush=True)
        warm.close()
    print(f"\n{dishonest} pairs trained something else without a word")
    return 1 if dishonest else 0


if __name__ == "__main__":
    sys.exit(main())
