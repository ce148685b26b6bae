"""Chains of a network's modules, each of which is given what the one before it returned, and nobody else is.

Found by running a copy of the network on shapes alone (the meta device): memory and values play no part. A module that
is nothing but a chain is taken apart (an nn.Sequential); one that is more, such as a block with a shortcut, is a link.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from torch.overrides import TorchFunctionMode

from vramfit.observe import owners
from vramfit.private import torch as of_torch


@dataclass(eq=False)
class Call:
    """A call of a module, while shapes run through the network."""

    name: str
    within: Call | None
    given: list[int]  # ids of all tensors that it was given
    input: Any = None  # the tensor, where it was given one and nothing else
    output: Any = None
    inner: list[Call] = field(default_factory=list)

    def is_link(self) -> bool:
        """An image in, an image out."""
        return _is_image(self.input) and _is_image(self.output) and self.input.shape[0] == self.output.shape[0]


@dataclass(frozen=True)
class Link:
    name: str
    input: tuple[int, ...]  # shapes
    output: tuple[int, ...]
    element: int  # bytes of a number in the output
    inner: list[list[Link]]  # chains within it, where it is not for tiles as a whole


def _is_image(value: Any) -> bool:
    return hasattr(value, "dim") and value.dim() == 4 and value.is_floating_point()


class _Tracer(TorchFunctionMode):
    """Who is given, and who looks at, which tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.running: list[Call] = []
        self.calls: list[Call] = []
        self.lookers: dict[int, list[Call]] = {}  # by id of a tensor
        self.kept: list[Any] = []  # alive, so that ids stay theirs

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.running:
            for _, tensor in owners.tensors_in((args, kwargs or {})):
                self.kept.append(tensor)
                self.lookers.setdefault(id(tensor), []).append(self.running[-1])
        return func(*args, **(kwargs or {}))

    def watch(self, name: str, module: Any) -> None:
        original = module.forward

        @functools.wraps(original)
        def forward(*args: Any, **kwargs: Any) -> Any:
            with self.untold():
                tensors = [tensor for _, tensor in owners.tensors_in((args, kwargs))]
            call = Call(name, self.running[-1] if self.running else None, [id(tensor) for tensor in tensors])
            self.kept += tensors
            if len(args) == 1 and not kwargs and tensors and args[0] is tensors[0]:
                call.input = args[0]
            if call.within is not None:
                call.within.inner.append(call)
            self.calls.append(call)
            self.running.append(call)
            try:
                result = original(*args, **kwargs)
            finally:
                self.running.pop()
            if call.input is not None and result is call.input:  # in place, or nothing done: told apart all the same
                with self.untold():
                    result = result.view_as(result)
            call.output = result
            return result

        module.forward = forward

    @contextlib.contextmanager
    def untold(self) -> Iterator[None]:
        running, self.running = self.running, []
        try:
            yield
        finally:
            self.running = running


def trace(torch: Any, model: Any, args: Any, kwargs: Any) -> list[list[Link]]:
    """The chains of a network that is given these inputs. Raises where it can't be run on shapes alone."""
    tracer = _Tracer()
    with torch.inference_mode(False), torch.no_grad():
        twin = _on_meta(torch, model)
        for name, module in twin.named_modules():
            tracer.watch(name, module)
        inputs, named = _shapes_of(torch, args), _shapes_of(torch, kwargs)
        with tracer:
            twin(*inputs, **named)
    return _Finder(tracer, _unsuited(model)).find()


def _on_meta(torch: Any, model: Any) -> Any:
    known: dict[int, Any] = {}
    for tensor in (*model.parameters(), *model.buffers()):
        empty = _empty(torch, tensor)
        is_parameter = isinstance(tensor, torch.nn.Parameter)
        known[id(tensor)] = torch.nn.Parameter(empty, requires_grad=False) if is_parameter else empty
    twin = copy.deepcopy(model, known)
    for module in twin.modules():
        for hooks in (of_torch.forward_hooks, of_torch.forward_pre_hooks):
            hooks.of(module, {}).clear()  # the script's, which are not to see it
    return twin


def _empty(torch: Any, tensor: Any) -> Any:
    """An empty tensor of one type: what an autocast of the card would make alike is then no matter."""
    dtype = torch.float32 if tensor.is_floating_point() else tensor.dtype
    return torch.empty(tensor.shape, dtype=dtype, device="meta")


def _shapes_of(torch: Any, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return _empty(torch, value)
    if isinstance(value, dict):
        return {key: _shapes_of(torch, item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_shapes_of(torch, item) for item in value)
    return value


def _unsuited(model: Any) -> set[str]:
    """Modules whose results somebody looks at, or that are in training mode."""
    hooks = (of_torch.forward_hooks, of_torch.forward_pre_hooks)
    return {
        name
        for name, module in model.named_modules()
        if any(each.of(module, {}) for each in hooks) or "forward" in vars(module) or module.training
    }


class _Finder:
    def __init__(self, tracer: _Tracer, unsuited: set[str]) -> None:
        self._calls, self._lookers = tracer.calls, tracer.lookers
        self._counts: dict[str, int] = {}
        self._given: dict[int, list[Call]] = {}
        for call in self._calls:
            self._counts[call.name] = self._counts.get(call.name, 0) + 1
            for tensor in call.given:
                self._given.setdefault(tensor, []).append(call)
        self._unsuited = unsuited
        self._tracer: _Tracer | None = tracer
        self._kept = self._find_kept()

    def _find_kept(self) -> set[int]:
        """Ids of outputs that outlive the forward: the network keeps them somewhere."""
        outputs = {id(call): call.output for call in self._calls}
        watched = {key: (id(value), weakref.ref(value)) for key, value in outputs.items() if _is_image(value)}
        facts = {key: (_is_image(v), tuple(v.shape), v.element_size()) for key, v in outputs.items() if _is_image(v)}
        inputs = {id(call): (id(call.input), tuple(call.input.shape)) for call in self._calls if _is_image(call.input)}
        returned = {id(call): [id(t) for _, t in owners.tensors_in(call.output)] for call in self._calls}
        links = {id(call): call.is_link() for call in self._calls}
        self._facts, self._inputs, self._returned, self._links = facts, inputs, returned, links
        self._outputs = {key: value[0] for key, value in watched.items()}
        outputs.clear()
        for call in self._calls:
            call.input = call.output = None
        if self._tracer is not None:
            self._tracer.kept.clear()
            self._tracer = None
        return {number for number, alive in watched.values() if alive() is not None}

    def find(self) -> list[list[Link]]:
        root = self._calls[0]
        if self._is_suited(root) and self._parts_of(root):
            return [self._links_of(root)]
        return self._chains_in(root)

    def _chains_in(self, call: Call) -> list[list[Link]]:
        """Runs of linked modules that it calls, and what is in those that are no part of one."""
        chains: list[list[Link]] = []
        run: list[Call] = []
        for inner in [*call.inner, None]:
            if inner is not None and self._is_suited(inner) and (not run or self._follows(run[-1], inner, call)):
                run.append(inner)
                continue
            if run:
                chains.append([link for part in run for link in self._links_of(part)])
            run = [inner] if inner is not None and self._is_suited(inner) else []
            if inner is not None and not run:
                chains += self._chains_in(inner)
        return chains

    def _is_suited(self, call: Call) -> bool:
        names = [call.name, *(each.name for each in self._all_in(call))]
        once = self._counts[call.name] == 1
        return once and self._links[id(call)] and not any(name in self._unsuited for name in names)

    def _all_in(self, call: Call) -> Iterator[Call]:
        for inner in call.inner:
            yield inner
            yield from self._all_in(inner)

    def _is_within(self, call: Call | None, outer: Call) -> bool:
        while call is not None and call is not outer:
            call = call.within
        return call is outer

    def _follows(self, first: Call, second: Call, outer: Call) -> bool:
        """Whether what the first returned is the second's input, and nobody else's."""
        tensor = self._outputs[id(first)]
        if self._inputs.get(id(second), (0, ()))[0] != tensor or tensor in self._kept:
            return False
        users = [*self._given.get(tensor, ()), *self._lookers.get(tensor, ())]
        alone = all(self._is_within(user, second) or self._is_within(user, first) for user in users)
        return alone and tensor not in self._returned[id(outer)]

    def _parts_of(self, call: Call) -> list[Call]:
        """The links of a module that is nothing but a chain; else none."""
        parts = call.inner
        if not parts or not all(map(self._is_suited, parts)):
            return []
        if self._inputs[id(parts[0])][0] != self._inputs[id(call)][0]:
            return []
        if self._outputs[id(parts[-1])] != self._outputs[id(call)]:
            return []
        tensors = {self._inputs[id(call)][0], *(self._outputs[id(part)] for part in parts)}
        if any(looker is call for tensor in tensors for looker in self._lookers.get(tensor, ())):
            return []
        return parts if all(self._follows(a, b, call) for a, b in zip(parts, parts[1:])) else []

    def _links_of(self, call: Call) -> list[Link]:
        parts = self._parts_of(call)
        if parts:
            return [link for part in parts for link in self._links_of(part)]
        _, output, element = self._facts[id(call)]
        inner = [] if not call.inner else self._chains_in(call)
        return [Link(call.name, self._inputs[id(call)][1], output, element, inner)]
