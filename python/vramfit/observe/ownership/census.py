"""When the walk over what is alive is taken, and what it tells the recorder.

A walk costs some 10 to 30 ms: the first training steps have one each, later ones where all walks so far took less than
a fiftieth of the time; so do forwards of a job that trains nothing, evaluations, an OOM, and the end.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from vramfit.base import events, notes, process, recorder
from vramfit.observe import owners, scopes
from vramfit.observe.ownership import apart, caches, leaves, loading, quantization, roles, storages, walk, writes
from vramfit.observe.phases import position
from vramfit.private import torch as of_torch

_SHARE = 0.02  # of the time so far that walks may take, beyond the first
_ALWAYS = 2  # walks at training steps that are taken whatever they cost: two tell what is written between them
_RISE = 1.01  # of the peak, since the last walk, for a walk at other occasions
_MOST_IS_NEW = 2.0  # as often as the peak doubles, a walk is worth what it costs: some ten times in a run at most
_MOST_OOMS = 3  # that are looked at: a script may catch them and go on
_LEAST_BYTES = 1 << 20  # on the cards: below, there is nothing to tell


class _State:
    def __init__(self) -> None:
        self.began = time.monotonic()
        self.spent = 0.0
        self.counts: dict[str, int] = {}
        self.ooms = 0
        self.runs = False
        self.peak = 0  # at the last walk
        self.optimized = False  # an optimizer stepped since the last backward pass
        self.with_gradients: set[int] = set()  # ids of parameters that a backward pass filled


_state = process.own(_State)


def _has_time(occasion: str) -> bool:
    """The first of an occasion, then while walks have taken little of the run, or when most of the peak is new."""
    count = _state.counts[occasion] = _state.counts.get(occasion, 0) + 1
    return count <= _ALWAYS or _has_risen(_MOST_IS_NEW) or _state.spent < _SHARE * (time.monotonic() - _state.began)


def _is_due(occasion: str) -> bool:
    """The first of an occasion, then at doubling counts while there is time for them."""
    has_time, count = _has_time(occasion), _state.counts[occasion]
    return has_time and (count <= _ALWAYS or count & (count - 1) == 0)


def _has_risen(by: float = _RISE) -> bool:
    return recorder.total(recorder.PEAK_ALLOCATED) > by * _state.peak


def _take_if_risen() -> None:
    if _has_risen():
        take()


def take() -> None:
    """Names what is alive. Never within itself: what it does may have the collector run."""
    if _state.runs or recorder.total(recorder.ALLOCATED) < _LEAST_BYTES:
        return
    _state.runs = True
    _state.peak = recorder.total(recorder.PEAK_ALLOCATED)
    began = time.monotonic()
    try:
        _tell(walk.living())
    except Exception as error:
        notes.hook_failed("census", error)
    finally:
        _state.runs = False
        _state.spent += time.monotonic() - began


def _tell(living: walk.Living) -> None:
    for model in living.modules:
        _note_gradients(of_torch.parameters.of(model).values())
    trained = roles.Trained.of(living, _state.with_gradients)
    found = roles.find(living, trained)
    claimed: set[int] = set()
    for role in found.roles:
        owners.tag_model(role.module, role.owner, role.name)
        owners.claim(role.module, role.owner, role.name)
    for module in living.modules:
        _tell_beside(module, claimed)
        for tensor in (*of_torch.parameters.of(module).values(), *of_torch.buffers.of(module).values()):
            if tensor is not None and scopes.is_there(tensor):
                claimed.update(storages.addresses_of(tensor))
                grad = tensor.grad if tensor.is_leaf else None
                if grad is not None:
                    claimed.update(storages.addresses_of(grad))
    models = owners.ModelWeights.of(living.models())
    for optimizer in living.optimizers:
        claimed.update(owners.tag_optimizer(optimizer, models))
    for tensor, owner, name in apart.find(living, found.models, claimed):
        owners.tag(tensor, owner, recorder.intern(name))
        claimed.update(storages.addresses_of(tensor))
    unmoved = leaves.look(living.tensors, claimed)
    if position.root is None:  # nothing but these may learn
        owners.tag_gradients(unmoved)
    else:
        for tensor in unmoved:
            owners.tag(tensor, recorder.INPUT_BLOCK, 0)
    for tensor in leaves.kept():
        owners.tag(tensor, recorder.WEIGHT, 0)
    owners.tag_gradients(leaves.kept())


def _tell_beside(module: Any, claimed: set[int]) -> None:
    """What one module holds besides its parameters and buffers."""
    weights, state = quantization.packed_buffers(module)
    for tensor in weights:
        owners.tag(tensor, recorder.WEIGHT, 0)
    own = {
        address for each in of_torch.parameters.of(module).values() if each is not None for address in _addresses(each)
    }
    for tensor in (*state, *quantization.beside(module)):
        if storages.address_of(tensor) not in own:
            owners.tag(tensor, recorder.QUANTIZATION, 0)
            claimed.update(storages.addresses_of(tensor))
    for tensor, name in caches.of_module(module):
        owners.tag(tensor, recorder.CACHE, recorder.intern(name))
        claimed.update(storages.addresses_of(tensor))


def _addresses(tensor: Any) -> list[int]:
    return storages.addresses_of(tensor) if scopes.is_there(tensor) else []


def _note_gradients(parameters: Any) -> None:
    _state.with_gradients.update(id(each) for each in parameters if each is not None and each.grad is not None)


def _backward_ended() -> None:
    count = _state.counts.get("backward", 0)
    if count < _ALWAYS:
        for _, module in scopes.live_roots():
            _note_gradients(module.parameters())
    optimized, _state.optimized = _state.optimized, False
    # Where an optimizer steps, its steps are the occasions.
    if not optimized and position.optimizers == 0 and _is_due("backward"):
        take()


def _step_ended(optimizer: Any) -> None:
    _state.optimized = True
    writes.step_ended()
    if _is_due("step"):
        take()


def _forward_ended(module: Any, result: Any) -> None:
    # Each walk waits for a higher peak than the last one's, so that there are few: a server's cache comes after many
    # forwards, and in one.
    if "step" not in _state.counts and "backward" not in _state.counts and _has_risen() and _has_time("forward"):
        take()


def _phase_begins(phase: int) -> None:
    if phase in (recorder.VALIDATE, recorder.TEST) and _has_risen() and _is_due("evaluation"):
        take()


def tell_all() -> None:
    """Tells at an OOM what the step didn't come to tell."""
    owners.tag_everything()
    caches.tag_living()
    take()


def _out_of_memory(device: int, tried: int, total: int, free: int) -> None:
    """PyTorch calls it before it raises: what only running functions hold is there still."""
    _state.ooms += 1
    if _state.ooms > _MOST_OOMS:
        return
    try:
        # In a thread of autograd this function may be the only one of Python.
        loading.look(sys.modules["torch"], sys._getframe().f_back)
        tell_all()
    except Exception as error:
        notes.hook_failed("census.oom", error)


@notes.guarded("census.attach")
def _observe(torch: Any) -> None:
    of_torch.attach_oom_observer(_out_of_memory)


def install(torch: Any) -> None:
    import atexit

    of_torch.lazy_call(lambda: _observe(torch))

    events.backward_end.listen(_backward_ended)
    events.training_step.listen(_step_ended)
    events.root_exit.listen(_forward_ended)
    events.phase_begin.listen(_phase_begins)
    events.before_stop.listen(_take_if_risen)
    atexit.register(_take_if_risen)
