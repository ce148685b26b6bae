"""Autocast for the loss: what the script computes between a training forward and backward() from what came out of it.

An operation is the loss's when something it reads belongs to the graph, or is of autocast's half type (which only comes
out of the forward). Everything else the script does there, and everything after, runs as it would without us: no region
has to be opened or closed at the right place.
"""

from __future__ import annotations

from typing import Any

from torch.overrides import TorchFunctionMode

from vramfit.private import torch as of_torch
from vramfit.private.names import need

need(of_torch.function_depth, of_torch.push_function_mode, of_torch.pop_function_mode)


class LossRegion(TorchFunctionMode):
    def __init__(self, torch: Any, dtype: Any) -> None:
        super().__init__()
        self.__torch = torch
        self.__dtype = dtype
        # autocast refuses these in half precision; in float they are what the script had.
        self.__in_float = (torch.nn.functional.binary_cross_entropy, of_torch.cross_entropy_of_probabilities.get())

        self.__beyond = (torch.autograd.grad,)  # differentiates; what it makes may go on in the loss

    def open(self) -> None:
        """Puts itself at the bottom of the stack, so that the script's own modes come off it as they went on."""
        above = _take_off(0)
        of_torch.push_function_mode(self)
        _put_back(above)

    def close(self) -> None:
        above = []
        while of_torch.function_depth():
            mode = of_torch.pop_function_mode()
            if mode is self:
                break
            above.append(mode)
        _put_back(above)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in self.__beyond:
            return func(*args, **kwargs)
        if not self.__is_of_loss(args) and not self.__is_of_loss(tuple(kwargs.values())):
            return func(*args, **kwargs)
        if func in self.__in_float:
            return func(*map(self.__to_float, args), **{name: self.__to_float(value) for name, value in kwargs.items()})
        with self.__torch.autocast("cuda", dtype=self.__dtype):
            return func(*args, **kwargs)

    def __is_of_loss(self, values: Any, depth: int = 2) -> bool:
        for value in values:
            if isinstance(value, self.__torch.Tensor):
                if value.requires_grad or value.dtype == self.__dtype:
                    return True
            elif depth and isinstance(value, (list, tuple)) and self.__is_of_loss(value, depth - 1):
                return True
        return False

    def __to_float(self, value: Any) -> Any:
        return value.float() if isinstance(value, self.__torch.Tensor) and value.dtype == self.__dtype else value


def _take_off(left: int) -> list[Any]:
    taken = []
    while of_torch.function_depth() > left:
        taken.append(of_torch.pop_function_mode())
    return taken


def _put_back(taken: list[Any]) -> None:
    for mode in reversed(taken):
        of_torch.push_function_mode(mode)


def to_float(torch: Any, value: Any, dtype: Any) -> Any:
    """`value` with its tensors of `dtype` as float32, in the containers that models return."""
    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype == dtype else value
    if isinstance(value, dict):
        changed = {key: to_float(torch, item, dtype) for key, item in value.items()}
        return changed if type(value) is dict else type(value)(**changed) if hasattr(value, "to_tuple") else value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(to_float(torch, item, dtype) for item in value))
    if type(value) in (list, tuple):
        return type(value)(to_float(torch, item, dtype) for item in value)
    return value
