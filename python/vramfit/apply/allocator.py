"""Settings of PyTorch's caching allocator: PYTORCH_CUDA_ALLOC_CONF, merged with what the user set."""

from __future__ import annotations

import os
from typing import Any

from vramfit import apply
from vramfit.contract import plans
from vramfit.private import torch as of_torch

ID = "allocator"
_VARIABLE = "PYTORCH_CUDA_ALLOC_CONF"
_NEWER_VARIABLE = "PYTORCH_ALLOC_CONF"  # from 2.10 on; it wins over the older one


def merged(own: str, wanted: str) -> str:
    """`own` with the settings of `wanted`: "a:1,b:2" and "b:3" give "a:1,b:3"."""
    settings = {}
    for part in (own + "," + wanted).split(","):
        name, colon, value = part.partition(":")
        if colon:
            settings[name.strip()] = value.strip()
    return ",".join(f"{name}:{value}" for name, value in settings.items())


def before_torch(options: plans.Allocator) -> None:
    wanted = options.conf
    for variable in (_VARIABLE, _NEWER_VARIABLE):
        if variable == _VARIABLE or variable in os.environ:
            os.environ[variable] = merged(os.environ.get(variable, ""), wanted)


def install(torch: Any, options: plans.Allocator) -> None:
    conf = merged(os.environ.get(_NEWER_VARIABLE, os.environ.get(_VARIABLE, "")), options.conf)
    # In a warm process torch was imported, and may have read its settings, before this job was known.
    of_torch.set_allocator_settings(conf)
    apply.applied(ID, conf)
