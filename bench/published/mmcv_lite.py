"""Lets MMSegmentation be imported with mmcv-lite, which has no compiled operators.

It asks for them on import, though few of its models call one.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
import types
import warnings
from collections.abc import Callable


class _NoOperators(types.ModuleType):
    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)

        def operator(*_args: object, **_named: object) -> None:
            raise RuntimeError(f"mmcv's compiled operator {name} is needed")

        return operator


operators = _NoOperators("mmcv._ext")
operators.__spec__ = importlib.machinery.ModuleSpec("mmcv._ext", None)  # other packages look for it
sys.modules.setdefault("mmcv._ext", operators)
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = (
    "1"  # mmengine asks for cards on import: by NVML, or no fork could use one
)
warnings.filterwarnings("ignore", module="mmseg")
