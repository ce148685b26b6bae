from __future__ import annotations

import pytest
from place import KINDS, Place, is_offered
from product import Product


@pytest.fixture(params=KINDS)
def place(product: Product, request: pytest.FixtureRequest) -> Place:
    if not is_offered(request.param):
        pytest.skip("this machine gives no such layer")
    return Place(product, request.param)


@pytest.fixture
def any_place(product: Product) -> Place:
    for kind in KINDS:
        if is_offered(kind):
            return Place(product, kind)
    pytest.skip("this machine gives no layer")
