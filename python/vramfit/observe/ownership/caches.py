"""Key-value caches: tensors that a model is given in one forward, and that the next lengthens or writes.

The arguments of a model's forward are looked at before and after it. Tensors inside a container or an object that the
forward lengthens along one dimension, or writes in place, are a cache; so are those whose name says it. Images, targets
and recurrent states of one size are none.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from vramfit.base import events, process, recorder
from vramfit.observe import owners, scopes
from vramfit.observe.ownership import names, storages
from vramfit.private.torch import REGISTERS

_LEAST_DIMENSIONS = 3
_MOST_TENSORS = 4096
_PLAIN = (str, bytes, int, float, bool, type(None))

Look = list[tuple[tuple[int, ...], tuple[int, int]]]  # shape and state of each tensor


@dataclass
class _Carried:
    """What one argument of a running forward held when it began."""

    name: str
    value: Any
    look: Look


class _State:
    def __init__(self) -> None:
        self.carried: list[_Carried] = []  # by the outermost model that runs: let go when it returns
        self.caches: dict[
            int, tuple[Any, str]
        ] = {}  # objects that were found to be caches: a weak reference, and the name
        self.returned: dict[
            int, Look
        ] = {}  # by address of its first tensor: what a forward returned inside a container


_state = process.own(_State)


def _tensors_of(value: Any) -> list[Any]:
    found = []
    for tensor in storages.within(value):
        found.append(tensor)
        if len(found) >= _MOST_TENSORS:
            break
    return [each for each in found if each.is_cuda and not each.requires_grad]


def _look(tensors: list[Any]) -> Look:
    return [(tuple(each.shape), storages.state_of(each)) for each in tensors]


def _is_like_a_cache(tensors: list[Any]) -> bool:
    deep = [each.dim() for each in tensors if each.dim() >= _LEAST_DIMENSIONS]
    return len(deep) > 2 or (len(deep) == 2 and max(deep) > _LEAST_DIMENSIONS)


def _has_grown(before: Look, after: Look) -> bool:
    if not before or len(before) != len(after):
        return False
    grown = 0
    for (old, _), (new, _) in zip(before, after):
        longer = [b > a for a, b in zip(old, new)]
        if len(old) != len(new) or any(b < a for a, b in zip(old, new)) or sum(longer) > 1:
            return False
        grown += sum(longer)
    return grown > 0


def _is_written(before: Look, after: Look) -> bool:
    """Whether it is written in place: the same tensors, with more writes than before."""
    same = [old[1][0] == new[1][0] for old, new in zip(before, after)]
    return len(before) == len(after) and all(same) and before != after


def _tag(value: Any, name: str) -> None:
    text = recorder.intern(name)
    for tensor in _tensors_of(value):
        owners.tag(tensor, recorder.CACHE, text)


def _name_of(argument: str, value: Any) -> str:
    return argument or type(value).__name__


def _says_cache(name: str, value: Any) -> bool:
    return names.is_cache(name) or (not isinstance(value, (dict, list, tuple)) and names.is_cache(type(value).__name__))


def _before(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    _state.carried.clear()
    if scopes.root_of(module) is None:
        return
    for name, value in [*(("", each) for each in args), *kwargs.items()]:
        if storages.is_tensor(value) or isinstance(value, _PLAIN) or callable(value):
            continue
        tensors = _tensors_of(value)
        if isinstance(value, (list, tuple, dict)) and not tensors:
            continue
        name, look = _name_of(name, value), _look(tensors)
        known = _state.caches.get(id(value))
        if known is not None and known[0]() is value:
            _tag(value, known[1])
        elif _is_like_a_cache(tensors) and (_says_cache(name, value) or _was_returned(look)):
            _found(value, name)
        _state.carried.append(_Carried(name, value, look))


def _was_returned(look: Look) -> bool:
    """Returned by an earlier forward that had lengthened it."""
    return look[0][1][0] in _state.returned and _state.returned[look[0][1][0]] == look


def _found(value: Any, name: str) -> None:
    try:
        _state.caches[id(value)] = (weakref.ref(value), name)
    except TypeError:
        pass  # a list or a tuple: judged again each time
    _tag(value, name)


def _after(module: Any, result: Any) -> None:
    carried, _state.carried = _state.carried, []
    for each in carried:
        tensors = _tensors_of(each.value)
        if not _is_like_a_cache(tensors):
            continue
        look = _look(tensors)
        if look == each.look:
            continue
        known = _state.caches.get(id(each.value))
        is_known = known is not None and known[0]() is each.value
        if (
            is_known
            or _says_cache(each.name, each.value)
            or _has_grown(each.look, look)
            or _is_written(each.look, look)
        ):
            _found(each.value, each.name)
    _note_returned(result, carried)


def _note_returned(result: Any, carried: list[_Carried]) -> None:
    """A forward that takes a tuple and returns a longer one: known again when it is handed in."""
    _state.returned.clear()
    if not isinstance(result, (tuple, list, dict)):
        return
    for item in result.values() if isinstance(result, dict) else result:
        if not isinstance(item, (tuple, list, dict)):
            continue
        tensors = _tensors_of(item)
        if not _is_like_a_cache(tensors):
            continue
        look = _look(tensors)
        shorter = next((each for each in carried if _has_grown(each.look, look)), None)
        if shorter is not None:
            _tag(shorter.value, shorter.name)
            _tag(item, shorter.name)
            _state.returned[look[0][1][0]] = look


def tag_living() -> None:
    """Tags at an OOM the caches that the forward which ran out had come to fill."""
    for each in _state.carried:
        if _says_cache(each.name, each.value):
            _tag(each.value, each.name)
    for reference, name in list(_state.caches.values()):
        value = reference()
        if value is not None:
            _tag(value, name)


def of_module(module: Any) -> list[tuple[Any, str]]:
    """Tensors that a module keeps outside of its registers under a cache's name, as serving engines do."""
    found = []
    for name, value in list(module.__dict__.items()):
        if isinstance(value, _PLAIN) or name in REGISTERS or not names.is_cache(name):
            continue
        found += [(tensor, name) for tensor in _tensors_of(value) if tensor.dim() >= _LEAST_DIMENSIONS]
    return found


def install() -> None:
    events.root_enter.listen(_before)
    events.root_exit.listen(_after)
