from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from product import Finished, Product


@pytest.fixture
def diagnose(product: Product) -> Callable[..., dict[str, Any]]:
    """Runs a script on a virtual card with --diagnose; returns what its result says under "evidence"."""

    def run(text: str, *arguments: str, fails: bool = False, **options: Any) -> dict[str, Any]:
        words = ("--diagnose", *options.pop("options", ()))
        finished: Finished = product.run(text, *arguments, options=words, **options)
        assert (finished.exit_code != 0) == fails, str(finished)
        hooks = [loss["text"] for loss in finished.result["losses"] if loss["kind"] == "hook_failed"]
        assert hooks == []
        return finished.result["evidence"]

    return run
