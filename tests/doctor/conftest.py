from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from doctor_calls import Doctor
from product import Finished, Product


@pytest.fixture
def doctor(product: Product) -> Doctor:
    return Doctor(product)


@pytest.fixture
def by_label() -> Callable[[Finished, str], dict[str, Any] | None]:
    def find(done: Finished, label: str) -> dict[str, Any] | None:
        return next((one for one in done.result["findings"] if one["label"] == label), None)

    return find
