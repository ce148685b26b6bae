"""Forecasts against runs, a row each: results.csv, which is kept with the sources."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from jobs import group_of

COLUMNS = ["group", "card", "job", "plan", "techniques", "added", "played", "proven"]


def write(path: Path, cases: list[dict[str, Any]]) -> None:
    """Sizes are in bytes."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for case in cases:
            writer.writerow(
                [
                    group_of(case["job"]),
                    case["card"],
                    case["job"],
                    case["plan"],
                    "+".join(case["techniques"]),
                    case["added"]["uses"],
                    case["played"]["uses"],
                    case["proven"]["device"],
                ]
            )


def read(path: Path) -> list[dict[str, Any]]:
    """The cases, in the form of the tool's lines."""
    with path.open() as file:
        return [
            {
                "card": row["card"],
                "job": row["job"],
                "plan": row["plan"],
                "techniques": row["techniques"].split("+"),
                "added": {"uses": int(row["added"])},
                "played": {"uses": int(row["played"])},
                "proven": {"device": int(row["proven"])},
            }
            for row in csv.DictReader(file)
        ]
