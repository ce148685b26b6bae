"""`vramfit patch` of a plan that takes channels out, as in tests/patch."""

from __future__ import annotations

from product import Product
from test_patch import Case, check


def test_a_patched_script_takes_the_same_channels_out(product: Product) -> None:
    check(product, Case("channels", [{"id": "prune", "share": 0.5, "sample": [3, 48, 48]}]))
