"""Tensors of torchvision keep their class under functions of PyTorch that the hooks stand in for.

torchvision knows by identity which functions give an image back as an image (`to`, `clone`). It is called with the one
that PyTorch has under that name at that moment: the original, or one of ours, of which several come and go.
"""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

from vramfit.base import importing
from vramfit.private import torchvision as of_torchvision


class ByOriginal(set[Any]):
    """Functions, each of them with whatever wraps it."""

    def __init__(self, functions: Any) -> None:
        super().__init__(inspect.unwrap(each) for each in functions)

    def __contains__(self, function: object) -> bool:
        return super().__contains__(inspect.unwrap(function) if callable(function) else function)


def _keep_classes(_: ModuleType) -> None:
    known = of_torchvision.keeps_class.get()
    if known is not None:
        of_torchvision.keeps_class.replace(ByOriginal(known))


def install() -> None:
    importing.after_import(of_torchvision.MODULE, _keep_classes)
