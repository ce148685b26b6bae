"""The folder that holds vramfit's program, libraries and data in a Python environment, laid out as everywhere else."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Becomes the program: the same process, so that signals and exit codes are its own."""
    program = Path(__file__).resolve().parent / "bin" / "vramfit"
    # `vramfit run -- python ...` means this environment's python, also where the environment is not activated.
    if sys.prefix != sys.base_prefix:
        os.environ.setdefault("VIRTUAL_ENV", sys.prefix)
    os.execv(program, [str(program), *sys.argv[1:]])
