"""Parameters whose numbers wait in host memory, and which say of themselves that they are on their card.

A parameter that waits has another class and its `data` on the host. So PyTorch asks that class before any function
works with it: what only asks for its shape or its device is answered, a checkpoint is written and read in host memory,
and all else is the keeper's to decide, before a number is worked out on the wrong side.
"""

from __future__ import annotations

import contextlib
import copy
import functools
from collections.abc import Callable, Iterator
from typing import Any

from vramfit.private import torch as of_torch

# Functions and attributes that tell of a parameter, and read none of its numbers.
_TELLING = frozenset({
    "size", "dim", "ndimension", "numel", "nelement", "element_size", "stride", "storage_offset", "is_contiguous",
    "is_floating_point", "is_complex", "is_signed", "is_inference", "is_same_size", "is_tensor", "__len__", "data_ptr",
    "untyped_storage", "requires_grad_", "register_hook", "register_post_accumulate_grad_hook",
})  # fmt: skip
_MAKING = frozenset({"data", "T", "H", "mT", "mH", "real", "imag"})  # attributes that are tensors of its numbers
_OF_CARD = frozenset({"is_cuda", "is_cpu", "device"})


class Keeper:
    """What becomes of a parameter whose numbers are asked for, and whether a checkpoint is written."""

    saves: int

    def asked_for(self, parameter: Any, function: str) -> None:
        """Makes the parameter an ordinary one again, or ends the job."""
        raise NotImplementedError


def class_for(torch: Any, card: Any, keeper: Keeper) -> type:
    """The class of parameters that wait for `card`."""
    without_function = of_torch.without_function.get()

    class Waiting(torch.nn.Parameter):  # type: ignore[misc, name-defined]
        vramfit_card = card

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = getattr(func, "__name__", "")
            if name in ("__get__", "__set__", "__delete__"):
                name = getattr(func.__self__, "__name__", "")
                if name in _OF_CARD:
                    return card if name == "device" else name == "is_cuda"
                is_harmless = name not in _MAKING
            else:
                is_harmless = name in _TELLING or _is_of_checkpoint(name, args)
            if name == "get_device":
                return card.index
            if not is_harmless:
                for waiting in _waiting_in((args, kwargs)):
                    keeper.asked_for(waiting, name)
            with without_function():
                return func(*args, **(kwargs or {}))

        def __deepcopy__(self, memo: Any) -> Any:
            keeper.asked_for(self, "deepcopy")
            return copy.deepcopy(self, memo)

        def __reduce_ex__(self, protocol: Any) -> Any:
            keeper.asked_for(self, "pickle")
            return self.__reduce_ex__(protocol)

    def _is_of_checkpoint(name: str, args: Any) -> bool:
        """Whether it is read for one, or written from one."""
        return (name == "detach" and keeper.saves > 0) or (name == "copy_" and is_waiting(args[0]))

    return Waiting


def is_waiting(value: Any) -> bool:
    return hasattr(type(value), "vramfit_card")


@contextlib.contextmanager
def as_plain(parameter: Any) -> Iterator[None]:
    """Within it, one that waits is an ordinary parameter on the host."""
    kind = type(parameter)
    if is_waiting(parameter):
        parameter.__class__ = kind.__bases__[0]
    try:
        yield
    finally:
        parameter.__class__ = kind


def _waiting_in(arguments: Any) -> list[Any]:
    return [leaf for leaf in of_torch.flatten_tree.get()(arguments)[0] if is_waiting(leaf)]


def watch_saves(torch: Any, keeper: Keeper) -> None:
    """Tells the keeper while a `state_dict()` is made."""
    original: Callable[..., Any] = torch.nn.Module.state_dict

    @functools.wraps(original)
    def state_dict(self: Any, *args: Any, **kwargs: Any) -> Any:
        keeper.saves += 1
        try:
            return original(self, *args, **kwargs)
        finally:
            keeper.saves -= 1

    torch.nn.Module.state_dict = state_dict
