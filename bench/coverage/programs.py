"""Training loops of many habits, each in its plainest form: `programs.py NAME`."""

from __future__ import annotations

import sys

import data  # noqa: F401
import epochs  # noqa: F401
import growth  # noqa: F401
import loops  # noqa: F401
from parts import PROGRAMS

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
