"""Fixtures of the tests of vramfit watch."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from machine import LEDGER_TOOL, Machine
from product import Product


@pytest.fixture
def machine(product: Product) -> Iterator[Machine]:
    assert LEDGER_TOOL.exists(), "vramfit_ledger_tool is not built (target virtual_gpu)"
    made = Machine(product)
    made.create()
    made.script("")
    yield made
    for process in made.started:
        process.kill()
        process.wait()


@pytest.fixture
def own_pid() -> int:
    return os.getpid()
