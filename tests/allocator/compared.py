"""How much the tests of this folder have compared; conftest.py says it at the end."""

from __future__ import annotations

calls: list[int] = []  # of the programs of one test
