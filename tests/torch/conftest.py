"""The operator tests import torch, which needs a virtual card's libraries: outside one they are not collected."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("VRAMFIT_LEDGER") else ["test_operators*.py"]
