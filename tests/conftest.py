from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
from product import Product


@pytest.fixture
def product(tmp_path: Path) -> Product:
    return Product(tmp_path)
