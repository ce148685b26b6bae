"""A smaller network of the same family in the place of the script's own: another training.

The name is replaced where timm or torchvision is asked for it, the sizes of the config where transformers begins to
make it. All else is the script's: classes, dropout, weights that are asked for by name.
"""

from __future__ import annotations

from typing import Any

from vramfit import apply
from vramfit.contract import plans
from vramfit.observe import network_makers

ID = "smaller_model"


class SmallerModel:
    def __init__(self, own: str, other: str) -> None:
        self._own = own
        self._other = other

    def choose(self, library: str, name: str) -> str | None:
        return self._other if name == self._own else None

    def after(self, name: str, error: BaseException | None) -> None:
        if error is None:
            apply.applied(ID, f"{name} instead of {self._own}")
        else:
            apply.refused(ID, f"{name} could not be made instead of {self._own}: {error}")


def install(torch: Any, options: plans.SmallerModel) -> None:
    technique = SmallerModel(options.from_, options.to)
    network_makers.choose_by(technique.choose, technique.after)
