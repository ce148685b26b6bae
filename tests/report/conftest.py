from __future__ import annotations

import sys
from pathlib import Path

import pytest
from product import ROOT

sys.path.insert(0, str(ROOT))
from tools.suite import node_packages


@pytest.fixture(scope="session")
def packages() -> Path:
    return node_packages.folder()
