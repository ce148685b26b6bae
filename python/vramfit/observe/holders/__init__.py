"""What keeps an object alive: the chain of references from a named variable down to it.

    tensor <- list <- dict of an object <- object <- local `trainer` of main()        "trainer.history[3]"
    tensor <- cell <- tuple <- function <- dict of hooks <- module <- global `model`   a hook's closure

The search goes backwards, level by level, for several objects at once: each level is one walk of Python's collector
over all its objects. A running function's variables are not in the collector; they are looked up first.
"""

from __future__ import annotations

import gc
import types
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from vramfit.base import frames
from vramfit.observe.holders.arrays import array_of_objects_with
from vramfit.observe.holders.chains import Holder, describe
from vramfit.observe.holders.names import Name, name_of, running_names
from vramfit.observe.ownership import storages

_MAX_LEVELS = 12
_MAX_FRONTIER = 4000  # objects of one level, over all targets
_MAX_ALONE = 4  # targets that are searched once more, each by itself
_OUR_MODULES = "vramfit"


@dataclass
class _Chain:
    name: Name
    objects: list[Any]  # from the named one down to the target

    def describe(self) -> Holder:
        return describe(self.objects, self.name.kind, self.name.name, self.name.where)


@dataclass
class _Joint:
    """A container that holds two targets, or what leads to them."""

    target: int
    container: int  # id
    below: int  # id of what it holds of the other


def find(targets: list[Any], hidden: Iterable[Any] = ()) -> list[Holder]:
    """One holder for each target. `hidden`: containers of the caller that refer to the targets and don't count."""
    hidden = [*hidden]
    search = _Search(targets, hidden)
    found = search.run()
    # A search follows one of several that meet in a container. Where that led elsewhere, the others are searched alone.
    left = [index for index, holder in enumerate(found) if holder is None][:_MAX_ALONE]
    for index in left:
        alone = _Search([targets[index]], [*hidden, targets])
        found[index] = alone.run()[0] or alone.nameless[0]
    return [holder or nameless or Holder() for holder, nameless in zip(found, search.nameless)]


class _Search:
    def __init__(self, targets: list[Any], hidden: Iterable[Any]) -> None:
        self._targets = targets
        self.nameless: list[Holder | None] = []  # for each target, once `run` is done
        self._found: dict[int, _Chain] = {}  # by index of the target
        self._second: dict[int, _Chain] = {}  # a name in somebody else's code: used where the script has none
        self._joined: dict[int, _Chain] = {}  # of targets that are reached through another's container
        self._referred: set[int] = set()  # targets that some Python object refers to
        self._same: dict[int, list[_Joint]] = {}  # a target -> others that a container holds as well
        # The id of an object -> the index of its target, and the id of what it refers to.
        self._paths: dict[int, tuple[int, int]] = {}
        self._objects: dict[int, Any] = {}
        self._hidden = {
            id(targets),
            id(self.__dict__),
            id(self._objects),
            id(self._paths),
            *(id(each) for each in hidden),
        }
        self._names = running_names()
        self._hidden.add(id(self._names))

    def run(self) -> list[Holder | None]:
        frontier: list[Any] = []
        for index, target in enumerate(self._targets):
            if id(target) not in self._paths:
                self._paths[id(target)] = (index, 0)
                self._objects[id(target)] = target
                frontier.append(target)
        for _ in range(_MAX_LEVELS):
            frontier = [each for each in frontier if not self._ends_at(each)]
            frontier = [each for each in frontier if self._paths[id(each)][0] not in self._found]
            if not frontier:
                break
            frontier = self._referrers(frontier)
        holders = [self._holder_of(index) for index in range(len(self._targets))]
        self.nameless = [self._object_above(index) for index in range(len(self._targets))]
        for kept in (self._names, self._objects, self._found, self._second, self._joined):
            kept.clear()
        return holders

    def _holder_of(self, index: int) -> Holder | None:
        chain = self._chain_of(index)
        if chain is not None:
            return chain.describe()
        if index in self._referred:
            return None
        # No Python object that the collector knows refers to it: an array of NumPy, or C++, which mostly is autograd.
        return array_of_objects_with(self._targets[index]) or Holder(kind="graph")

    def _object_above(self, index: int) -> Holder | None:
        """The nearest object with attributes that leads to it, where no name does: a cycle, or what C++ holds."""
        above = [each for each in self._objects.values() if self._paths[id(each)][0] == index]
        above = [each for each in above if each is not self._targets[index]]
        own = next((each for each in above if frames.is_script_object(each)), None)
        own = own or next((each for each in above if _has_attributes(each)), None)
        if own is None:
            return None
        return describe(self._down_from(id(own)), "object", type(own).__name__, "")

    def _chain_of(self, index: int) -> _Chain | None:
        found = self._found.get(index) or self._second.get(index) or self._joined.get(index)
        if found is not None or index not in self._same:
            return found
        for joint in self._same.pop(index):
            found = self._chain_of(joint.target)
            objects = found.objects if found is not None else []
            above = next((place for place, each in enumerate(objects) if id(each) == joint.container), None)
            if found is not None and above is not None:
                # Others may be reached through this one's: a list beside the first in a dict of lists.
                self._joined[index] = _Chain(found.name, [*objects[: above + 1], *self._down_from(joint.below)])
                return self._joined[index]
        return None

    def _down_from(self, start: int) -> list[Any]:
        """The chain from an object down to its target."""
        objects = [self._objects[start]]
        while (below := self._paths[id(objects[-1])][1]) != 0:
            objects.append(self._objects[below])
        return objects

    def _referrers(self, frontier: list[Any]) -> list[Any]:
        wanted = {id(each) for each in frontier}
        self._hidden.add(id(frontier))
        result: list[Any] = []
        self._hidden.add(id(result))
        for referrer in gc.get_referrers(*frontier):
            if id(referrer) in self._hidden or _is_ours(referrer):
                continue
            below = list({id(each): None for each in gc.get_referents(referrer) if id(each) in wanted})
            if not below:
                continue
            known = self._paths.get(id(referrer))
            target = known[0] if known is not None else self._paths[below[0]][0]
            self._unite(target, below, referrer)
            if known is not None or len(result) >= _MAX_FRONTIER:
                continue
            self._paths[id(referrer)] = (target, below[0])
            self._objects[id(referrer)] = referrer
            result.append(referrer)
        return result

    def _unite(self, target: int, below: list[int], container: Any) -> None:
        """Targets in one container share its holder: only the first is followed up."""
        for each in below:
            index = self._paths[each][0]
            self._referred.add(index)
            if index != target:
                self._same.setdefault(index, []).append(_Joint(target, id(container), each))

    def _ends_at(self, value: Any) -> bool:
        """Notes the holder when `value` is named: a running function's variable, or a module's own names."""
        named = self._names.get(id(value)) or name_of(value)
        if named is None:
            return False
        index = self._paths[id(value)][0]
        chain = _Chain(named, self._down_from(id(value)))
        self._hidden.add(id(chain.objects))
        if named.script:
            known = self._found.get(index)
            if known is None or _is_longer(chain.objects, known.objects):
                self._found[index] = chain
        else:
            self._second.setdefault(index, chain)
        return named.script


def _is_longer(chain: list[Any], other: list[Any]) -> bool:
    """Prefers, of two that hold it alike, the one that holds more: `buffer`, not the `batch` that was drawn from it."""
    sizes = [len(each[0]) if isinstance(each[0], (list, dict, set, deque)) else 0 for each in (chain, other)]
    return len(chain) == len(other) and sizes[0] > sizes[1]


def _has_attributes(value: Any) -> bool:
    """An object with attributes of its own that is no tensor, module of Python, class or function."""
    plain = (type, types.ModuleType, types.FunctionType)
    return hasattr(value, "__dict__") and not isinstance(value, plain) and not storages.is_tensor(value)


def _is_ours(value: Any) -> bool:
    if isinstance(value, types.FrameType):
        return frames.is_ours(value.f_code.co_filename)
    if isinstance(value, dict):
        name = value.get("__name__") if "__builtins__" in value else None
        return isinstance(name, str) and name.split(".")[0] == _OUR_MODULES
    module = type(value).__module__
    return isinstance(module, str) and module.split(".")[0] == _OUR_MODULES
