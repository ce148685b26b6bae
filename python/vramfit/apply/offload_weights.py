"""The weights of a network that is evaluated wait in host memory; each module's come to the card for its forward.

    script:               body.0   body.1   body.2   head
    weights on the card:  body.0   body.1   body.2   head     and nothing between two forwards

The numbers and the kernels are the script's own, so what comes out is the same to the bit. Only the way there is paid:
the copy in pinned memory stays as it is, so nothing has to go back.

A module's own weights come for its own forward, with those of all that is in it where it is one of PyTorch's that reads
them (attention does). Buffers, and weights too small to be worth the way, stay on the card. Where nothing trains yet,
the weights of a network that goes to the card stay behind; before a training forward, or where the script reads them
between two forwards, they go there. Within a forward only their own module may read them (waiting.py sees who does).
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from vramfit import apply
from vramfit.apply import foreign_forwards, forwards, torch_script, waiting
from vramfit.base import events, process
from vramfit.base.recorder import TRAIN
from vramfit.contract import plans
from vramfit.observe import own_weights, phases, scopes
from vramfit.private import torch as of_torch

ID = "offload_weights"
_HELD_ALONE = 2  # uses of a parameter's storage: by it, and by the question
_ENDS = MappingProxyType({
    "compiled": "the network is compiled, which fixes where its weights are",
    "sharded": "the network's weights are sharded, and gathered by a library",
})  # fmt: skip
_MANY_CARDS = ("DataParallel", "DistributedDataParallel")


@dataclass
class _Brought:
    host: Any
    writes: int
    address: int
    users: int = 1  # forwards that run


class OffloadWeights(waiting.Keeper):
    KEEPS = process.ALL

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._classes: dict[Any, type] = {}  # by card
        self._brought: dict[int, _Brought] = {}  # by id of a parameter that is on the card for a forward
        self._known: weakref.WeakSet[Any] = weakref.WeakSet()  # modules whose forward brings their weights
        self._looked_at: weakref.WeakSet[Any] = weakref.WeakSet()  # and did not write to them
        self._trains = False
        self.saves = 0

    # -- when

    def move(self, module: Any, device: Any, dtype: Any, go: Callable[[], Any]) -> Any:
        """The weights of a network that goes to a card stay behind, where nothing trains: `go` moves what is left."""
        weights = {id(p): p for p in self._all_of(module)}
        cards = {number: type(p).vramfit_card for number, p in weights.items() if waiting.is_waiting(p)}
        for parameter in weights.values():
            self._make_plain(parameter)
        if device is not None and device.type == "cuda":
            card = self._torch.device(
                "cuda", self._torch.cuda.current_device() if device.index is None else device.index
            )
            stays = bool(cards) or not (self._trains or self._is_of_many(module))
            cards = {number: card for number, p in weights.items() if stays and not p.is_cuda}
        elif device is not None:
            cards = {}
        with self._left_out(module, cards.keys() if device is not None else ()):
            result = go()
        for number, card in cards.items():
            if dtype is not None and device is not None and weights[number].is_floating_point():
                weights[number].data = weights[number].data.to(dtype)
            self._wait(weights[number], card)
        if cards:
            self._watch(module)
        return result

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        root = scopes.root_of(module)
        if root is None or not root.parameters or torch_script.is_being_made():
            return
        if module.training or self._torch.is_grad_enabled() or phases.position.phase == TRAIN:
            for parameter in self._all_of(module):
                self._take_back(parameter)
            if phases.position.phase != TRAIN and not module.training:
                apply.refused(ID, "the script evaluates with gradients on, whose graph would hold the weights")
            return
        if why := self._why_not(module):
            apply.refused(ID, why)
            return
        known = set(self._known)
        self._watch(module)
        for part in module.modules():
            if part is module and part not in known:
                continue  # its forward is on its way already: from the next one on
            for parameter in own_weights.of(part):
                self._leave(parameter)

    def trains(self, *_: Any) -> None:
        self._trains = True

    def compiles(self, asked: Any) -> None:
        """A module, or the method of one."""
        module = getattr(asked, "__self__", asked)
        if isinstance(module, self._torch.nn.Module) and next(self._all_of(module), None) is not None:
            apply.refused(ID, _ENDS["compiled"])

    def before_script(self, module: Any) -> None:
        if any(part in self._known for part in module.modules()) or any(map(waiting.is_waiting, self._all_of(module))):
            apply.ended(ID, "TorchScript is made of the network, and would read its weights by itself")

    def _why_not(self, module: Any) -> str:
        if why := _ENDS.get(foreign_forwards.kind_of(module)):
            return why
        if self._is_of_many(module):
            return f"the network is wrapped in {type(module).__name__}, which gives its weights to several cards"
        if any(isinstance(part, self._torch.jit.ScriptModule) for part in module.modules()):
            return "the network is TorchScript, which reads its weights by itself"
        if next(self._all_of(module), None) is None:
            return f"{type(module).__name__} has no weights to speak of that its modules read in their own forwards"
        return ""

    def _is_of_many(self, module: Any) -> bool:
        distributed = self._torch.distributed
        return type(module).__name__ in _MANY_CARDS or (
            distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1
        )

    @staticmethod
    def _all_of(module: Any) -> Iterator[Any]:
        for part in module.modules():
            yield from own_weights.of(part)

    # -- how

    def _watch(self, module: Any) -> None:
        for part in module.modules():
            if part not in self._known and next(own_weights.of(part), None) is not None:
                self._known.add(part)
                forwards.replace(part, self._with_weights)

    def _with_weights(self, module: Any, forward: Any, *args: Any, **kwargs: Any) -> Any:
        if self._torch.compiler.is_compiling() or self._torch.jit.is_tracing():
            apply.ended(ID, "the network is compiled or traced")
        weights = [p for p in own_weights.of(module) if waiting.is_waiting(p) or id(p) in self._brought]
        if not weights:
            return forward(*args, **kwargs)
        if self._torch.is_grad_enabled():
            apply.ended(ID, f"{type(module).__name__} works out gradients within an evaluation")
        if self._torch.cuda.is_current_stream_capturing():
            apply.ended(ID, "the script captures a CUDA graph, which would hold the weights of one forward")
        brought = []
        try:
            for parameter in weights:
                self._bring(parameter)
                brought.append(parameter)
            apply.applied(ID, "the network's weights wait in host memory between forwards of its modules")
            return forward(*args, **kwargs)
        finally:
            is_first = module not in self._looked_at
            self._looked_at.add(module)
            for parameter in brought:
                self._let_go(parameter, module, is_first)

    def _bring(self, parameter: Any) -> None:
        if (known := self._brought.get(id(parameter))) is not None:
            known.users += 1
            return
        card = type(parameter).vramfit_card
        host = self._make_plain(parameter)
        with self._plainly():
            parameter.data = host.to(card, non_blocking=True)
        self._brought[id(parameter)] = _Brought(host, of_torch.writes.of(parameter, 0), parameter.data_ptr())

    def _let_go(self, parameter: Any, module: Any, is_first: bool) -> None:
        known = self._brought[id(parameter)]
        known.users -= 1
        if known.users > 0:
            return
        del self._brought[id(parameter)]
        is_other = parameter.data_ptr() != known.address or of_torch.writes.of(parameter, 0) != known.writes
        if is_other or (is_first and apply.has_values() and not self._is_same(parameter, known.host)):
            apply.ended(ID, f"{self._called(parameter)} is written to by the forward of {type(module).__name__}")
        self._put(parameter, known.host, parameter.device)

    def _is_same(self, parameter: Any, host: Any) -> bool:
        """To the bit: what is no number is unlike itself."""
        with self._plainly():
            now, before = (each.contiguous().view(-1).view(self._torch.uint8) for each in (parameter.data.cpu(), host))
            return bool(self._torch.equal(now, before))

    def _leave(self, parameter: Any) -> None:
        """A weight on the card goes to the host."""
        if waiting.is_waiting(parameter) or not parameter.is_cuda:
            return
        self._check_alone(parameter)
        self._wait(parameter, parameter.device)

    def _wait(self, parameter: Any, card: Any) -> None:
        with self._plainly():
            host = parameter.data
            if not host.is_pinned():
                host = self._torch.empty_like(host, device="cpu", pin_memory=True).copy_(host)
        self._put(parameter, host, card)

    def _put(self, parameter: Any, host: Any, card: Any) -> None:
        with self._plainly():
            parameter.data = host
        if card not in self._classes:
            self._classes[card] = waiting.class_for(self._torch, card, self)
        parameter.__class__ = self._classes[card]

    def _make_plain(self, parameter: Any) -> Any:
        """The numbers on the host of what is an ordinary parameter from here on."""
        if waiting.is_waiting(parameter):
            parameter.__class__ = self._torch.nn.Parameter
        return parameter.data

    def _take_back(self, parameter: Any) -> None:
        if not waiting.is_waiting(parameter):
            return
        card = type(parameter).vramfit_card
        self._make_plain(parameter)
        if self._trains:
            self._check_alone(parameter)
        with self._plainly():
            parameter.data = parameter.data.to(card)

    def _check_alone(self, parameter: Any) -> None:
        """What shares its memory would not see what is written to it from here on."""
        storage = parameter.untyped_storage()
        if of_torch.storage_uses(of_torch.storage_object.of(storage)) > _HELD_ALONE:
            apply.ended(ID, f"the script has tensors that share the memory of {self._called(parameter)}")

    def asked_for(self, parameter: Any, function: str) -> None:
        if phases.is_inside_module():
            what = self._called(parameter)
            apply.ended(ID, f"{what} is read outside of its own module's forward, by {function} in another's")
        self._take_back(parameter)

    def _called(self, parameter: Any) -> str:
        for module in list(self._known):
            for name, own in module.named_parameters():
                if own is parameter:
                    return ".".join(filter(None, (scopes.name_of(module), name)))
        return "a weight"

    def _plainly(self) -> Any:
        stack = contextlib.ExitStack()
        stack.enter_context(self._torch.inference_mode(False))
        stack.enter_context(self._torch.no_grad())
        return stack

    @contextlib.contextmanager
    def _left_out(self, module: Any, numbers: Iterable[int]) -> Iterator[None]:
        """Without these parameters, by their ids, in any of the modules."""
        before = []
        for part in module.modules():
            own = of_torch.parameters.of(part, {})
            left_out = {name: p for name, p in own.items() if p is not None and id(p) in numbers}
            if left_out:
                before.append((own, left_out))
                for name in left_out:
                    own[name] = None
        try:
            yield
        finally:
            for own, left_out in before:
                own.update(left_out)


def install(torch: Any, options: plans.OffloadWeights) -> None:
    technique = process.own(OffloadWeights, torch)
    events.root_enter.listen(technique.enter)
    events.optimizer_made.listen(technique.trains)
    events.backward_begin.listen(technique.trains)
    waiting.watch_saves(torch, technique)
    _watch_moves(torch, technique)
    _watch_compile(torch, technique)
    torch_script.before_made(torch, technique.before_script)


def _watch_compile(torch: Any, technique: OffloadWeights) -> None:
    original = torch.compile

    @functools.wraps(original)
    def compile(model: Any = None, *args: Any, **kwargs: Any) -> Any:
        technique.compiles(model)
        return original(model, *args, **kwargs)

    torch.compile = compile


def _watch_moves(torch: Any, technique: OffloadWeights) -> None:
    """All ways in which a module's parameters go elsewhere, or get another type."""
    for name in ("to", "cuda", "cpu", "half", "float", "double", "bfloat16", "type"):
        setattr(torch.nn.Module, name, _moving(torch, technique, name, getattr(torch.nn.Module, name)))


def _moving(torch: Any, technique: OffloadWeights, name: str, original: Any) -> Any:
    @functools.wraps(original)
    def move(self: Any, *args: Any, **kwargs: Any) -> Any:
        device, dtype = _target(torch, name, args, kwargs)
        return technique.move(self, device, dtype, lambda: original(self, *args, **kwargs))

    return move


def _target(torch: Any, name: str, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The device and the type that a module is given; None: its own."""
    try:
        if name == "to":
            return of_torch.parse_to(*args, **kwargs)[:2]
        if name == "cuda":
            asked = args[0] if args else kwargs.get("device")
            return torch.device("cuda", asked) if isinstance(asked, int) else torch.device(asked or "cuda"), None
    except (TypeError, RuntimeError):  # the call itself will say so
        return None, None
    return torch.device("cpu") if name == "cpu" else None, None
