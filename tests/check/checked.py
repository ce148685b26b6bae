"""A script that records itself, and `vramfit check` of what it recorded."""

from __future__ import annotations

import sys
from pathlib import Path

import jsonschema
from product import Finished, Product, strict_schema


def record(product: Product, script: str, *options: str, **variables: str) -> Path:
    """What the script itself leaves of a run, as if of a real card."""
    done = product.run(script, options=("--files", "shared", "--steps", "all", *options), **variables)
    assert done.exit_code == 0, done
    return product.folder / "recorded.pickle"


def check(
    product: Product, recording: Path, script: str, *options: str, gpu: str = "rtx3060", **variables: str
) -> Finished:
    report = product.folder / "check.json"
    report.unlink(missing_ok=True)
    path = product.script(script)
    card = ("--gpu", gpu) if gpu else ()
    words = ("check", str(recording), *card, "--json", str(report), *options, "--", sys.executable, str(path))
    done = product.read(product.call(*words, **variables), report)
    if done.result:
        jsonschema.validate(done.result, strict_schema("check"))
    return done
