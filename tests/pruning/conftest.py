"""What needs torch-pruning, in an environment that has it (tests/requirements/pruning.txt)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "hooks"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "patch"))
from job_fixtures import job, warm_python

__all__ = ["job", "warm_python"]
