"""pin_memory and num_workers of the loaders: host memory and start-up, not device memory."""

from __future__ import annotations

from typing import Any

from vramfit import apply
from vramfit.contract import plans
from vramfit.observe import loaders
from vramfit.observe.loaders import Pass

ID = "loader_options"


def install(torch: Any, options: plans.LoaderOptions) -> None:
    wanted = options.given()

    def before_pass(this_pass: Pass) -> None:
        loader = this_pass.loader
        for name, value in wanted.items():
            object.__setattr__(loader, name, value)
        if wanted.get("num_workers") == 0:
            object.__setattr__(loader, "persistent_workers", False)
            object.__setattr__(loader, "prefetch_factor", None)
        elif wanted.get("num_workers") and loader.prefetch_factor is None:
            object.__setattr__(loader, "prefetch_factor", 2)
        apply.applied(ID, ", ".join(f"{name}={value}" for name, value in wanted.items()))

    loaders.before_pass.insert(0, before_pass)
