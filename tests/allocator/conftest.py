from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from product import STAGE

sys.path.insert(0, str(Path(__file__).resolve().parent))
import compared
import torch_release


@pytest.fixture
def play() -> Path:
    """The program that plays calls through the simulator, from the build that the stage belongs to."""
    path = Path(os.environ.get("VRAMFIT_ALLOCATOR_PLAY") or STAGE.parent / "tools" / "vramfit_allocator_play")
    if not path.exists():
        pytest.skip("the simulator's test program was not built")
    return path


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if compared.calls:
        release = ".".join(map(str, torch_release.of_this_interpreter()))
        terminalreporter.write_line(f"compared {sum(compared.calls):,} allocator calls with torch {release}'s own")
