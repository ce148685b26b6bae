"""The device files of virtual cards: programs look for them before they load a CUDA library, and JAX takes a machine
without them for one without a card."""

from __future__ import annotations

import pytest
from product import Product

LOOKS = """
    import os
    for name in ("nvidia0", "nvidia1", "nvidia2", "nvidiactl", "nvidia", "null"):
        path = f"/dev/{name}"
        print(name, os.path.exists(path), os.path.lexists(path), os.access(path, os.R_OK), os.access(path, os.X_OK))
"""


@pytest.mark.parametrize("where", ["private", "shared"])
def test_each_virtual_card_has_its_file_and_others_are_as_they_are(product: Product, where: str) -> None:
    script = product.script(LOOKS)
    done = product.call("run", "--gpu", "2xrtx3090", "--files", where, "--", "python", str(script))
    seen = [line for line in done.stdout.splitlines() if line.startswith(("nvidia", "null"))]
    there, missing = "True True True False", "False False False False"
    assert seen == [
        f"nvidia0 {there}",
        f"nvidia1 {there}",
        f"nvidia2 {missing}",
        f"nvidiactl {there}",
        f"nvidia {missing}",
        f"null {there}",
    ], str(done)
