"""Fixtures of the tests of vramfit serve."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from product import ROOT, Product
from site_server import SiteServer

sys.path.insert(0, str(ROOT / "tests" / "report"))


@pytest.fixture
def site(product: Product) -> Iterator[SiteServer]:
    made = SiteServer(product)
    made.start()
    yield made
    made.stop()
