"""What keeps an object alive: the chain of references from a named variable down to it.

    tensor <- list <- dict of an object <- object <- local `trainer` of main()        "trainer.history[3]"
    tensor <- cell <- tuple <- function <- dict of hooks <- module <- global `model`   a hook's closure

The search goes backwards, level by level, for several objects at once: each level is one walk of Python's collector
over all its objects. A running function's variables are not in the collector; they are looked up first.
"""

from __future__ import annotations

import gc
import re
import sys
import types
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vramfit.base import frames
from vramfit.contract import notes as said
from vramfit.observe.ownership import storages
from vramfit.private import torch as of_torch

_MAX_LEVELS = 12
_MAX_FRONTIER = 4000  # objects of one level, over all targets
_MAX_ALONE = 4  # targets that are searched once more, each by itself
_MAX_INDEX = 200_000  # items of a container looked through for an index
_OUR_MODULES = "vramfit"


@dataclass
class Holder:
    """Where a chain ends, as model::Holder (src/model/runtime_evidence.h)."""

    kind: str = "unknown"
    name: str = ""
    where: str = ""
    container: str = ""
    length: int = -1
    chain: list[str] = field(default_factory=list)
    filled_at: list[str] = field(default_factory=list)

    def told(self) -> said.Holder:
        """For a note."""
        return said.Holder(**vars(self))


@dataclass
class _Name:
    kind: str
    name: str
    where: str
    script: bool  # a name in the user's own code


@dataclass
class _Chain:
    name: _Name
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
        self._names = _running_names()
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
        for kept in (self._names, self._objects, self._found, self._second):
            kept.clear()
        return holders

    def _holder_of(self, index: int) -> Holder | None:
        chain = self._chain_of(index)
        if chain is not None:
            return chain.describe()
        if index in self._referred:
            return None
        # No Python object that the collector knows refers to it: an array of NumPy, or C++, which mostly is autograd.
        return _array_of_objects_with(self._targets[index]) or Holder(kind="graph")

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
        found = self._found.get(index) or self._second.get(index)
        if found is not None or index not in self._same:
            return found
        for joint in self._same.pop(index):
            found = self._chain_of(joint.target)
            objects = found.objects if found is not None else []
            above = next((place for place, each in enumerate(objects) if id(each) == joint.container), None)
            if found is not None and above is not None:
                return _Chain(found.name, [*objects[: above + 1], *self._down_from(joint.below)])
        return None

    def _down_from(self, start: int) -> list[Any]:
        """From an object down to its target."""
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
        named = self._names.get(id(value)) or _name_of(value)
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


def _array_of_objects_with(target: Any) -> Holder | None:
    """NumPy hides what its arrays of objects hold from the collector: those that have a name are looked through."""
    for frame in frames.stacks():
        if not frames.is_script(frame.f_code):
            continue
        is_module = frame.f_code.co_name == "<module>"
        where = str(frame.f_globals.get("__name__", "")) if is_module else frames.place(frame)
        for name, value in frames.variables(frame).items():
            own = vars(value).items() if frames.is_script_object(value) else ()
            for path, array in [(name, value), *((f"{name}.{attribute}", each) for attribute, each in own)]:
                index = _place_in_array(array, target)
                if index is not None:
                    kind = "attribute" if "." in path else "global" if is_module else "local"
                    chain = [f"{kind} {path}", f"ndarray of {array.size}"]
                    return Holder(kind, f"{path}[{index}]", where, "ndarray", int(array.size), chain)
    return None


def _place_in_array(array: Any, target: Any) -> int | None:
    kind = type(array)
    if kind.__module__.partition(".")[0] != "numpy" or kind.__name__ != "ndarray" or array.dtype != object:
        return None
    return next((index for index, each in enumerate(_bounded(array.flat)) if each is target), None)


def _is_longer(chain: list[Any], other: list[Any]) -> bool:
    """Of two that hold it alike the one that holds more: `buffer`, not the `batch` that was drawn from it."""
    sizes = [len(each[0]) if isinstance(each[0], (list, dict, set, deque)) else 0 for each in (chain, other)]
    return len(chain) == len(other) and sizes[0] > sizes[1]


def _has_attributes(value: Any) -> bool:
    """An object with attributes of its own that is no tensor, module of Python, class or function."""
    plain = (type, types.ModuleType, types.FunctionType)
    return hasattr(value, "__dict__") and not isinstance(value, plain) and not storages.is_tensor(value)


def describe(chain: list[Any], kind: str, name: str, where: str) -> Holder:
    """The holder at the top of `chain` (top first, the target last)."""
    holder = Holder(kind=kind, name=name, where=where)
    holder.chain.append(f"{kind} {name}" if name else kind)
    for before, above, below, after in zip([None, *chain], chain, chain[1:], [*chain[2:], None]):
        step, special = _step(above, below)
        if isinstance(above, types.FunctionType) and isinstance(after, types.CellType):
            step = f" -> {_variable(above, after)} in closure of {above.__qualname__}()"
        is_class = isinstance(before, type) and isinstance(above, dict)
        if is_class or (isinstance(above, dict) and getattr(before, "__dict__", None) is above) or above is vars(sys):
            step = "." + _key(step)
        elif not holder.name and kind == "global":
            step = _key(step)
        holder.name += step
        holder.chain.append(_words(above))
        if special and holder.kind not in ("exception", "hook"):
            holder.kind = special
        if isinstance(above, (types.FrameType, types.FunctionType)):
            holder.where = _place_of(above)
    holder.name = _REGISTERED.sub(r".\1", holder.name)
    if holder.kind == "global" and _is_notebooks(holder.name):
        holder.kind = "notebook"
    if holder.kind in ("global", "local") and "." in _KEYS.sub("", holder.name) and "->" not in holder.name:
        holder.kind = "attribute"
    containers = [each for each in reversed(chain[:-1]) if isinstance(each, (list, tuple, dict, set, deque))]
    containers = [each for each in containers if not _is_namespace(each, chain)]
    direct = next((each for each in containers if not isinstance(each, tuple)), containers[0] if containers else None)
    if direct is not None:
        holder.container = type(direct).__name__
        holder.length = len(direct)
    holder.chain = holder.chain[:1] + [words for words in holder.chain[1:] if words][-10:]
    return holder


# -- one step of a chain

_KEYS = re.compile(r"\['[^']*'\]")
_REGISTERED = re.compile(r"\._(?:modules|buffers|parameters)\['(\w+)'\]")


def _key(step: str) -> str:
    return step.removeprefix("['").removesuffix("']")


def _step(above: Any, below: Any) -> tuple[str, str]:
    """How `below` is written after `above`, and the kind of holder that this makes of the whole."""
    if isinstance(above, dict):
        key = next((key for key, value in _bounded(above.items()) if value is below), None)
        special = "hook" if _is_hooks(above, key) else ""
        return (f"[{_shown(key)}]" if key is not None else "", special)
    if isinstance(above, (list, tuple, deque)):
        index = next((i for i, value in enumerate(_bounded(above)) if value is below), None)
        if index is None or isinstance(below, types.CellType):
            return "", ""
        return f"[{index}]", ""
    if isinstance(above, types.CellType):
        return "", "closure"
    if isinstance(above, types.FunctionType):
        return _closure_step(above, below), ""
    if isinstance(above, (types.TracebackType, BaseException)):
        return "", "exception"
    if isinstance(above, types.FrameType):
        return _frame_step(above, below), ""
    if isinstance(above, types.GeneratorType):
        return _frame_step(above.gi_frame, below), "generator"
    return _attribute_step(above, below), ""


def _shown(key: Any) -> str:
    """A key as it is written; of an object only its class: the words of a parameter are its values."""
    return repr(key) if isinstance(key, (str, int, float, tuple, bytes)) else type(key).__name__


def _bounded(items: Iterable[Any]) -> Iterable[Any]:
    for count, item in enumerate(items):
        if count >= _MAX_INDEX:
            return
        yield item


def _is_hooks(table: dict[Any, Any], key: Any) -> bool:
    """Hooks are kept in dicts from a handle's number to a function."""
    value = table.get(key) if key is not None else None
    return type(key) is int and callable(value) and not isinstance(value, type)


def _closure_step(function: types.FunctionType, below: Any) -> str:
    if below is function.__defaults__:
        return f" -> default of {function.__qualname__}()"
    return f" -> {function.__qualname__}()"


def _variable(function: types.FunctionType, cell: types.CellType) -> str:
    for name, own in zip(function.__code__.co_freevars, function.__closure__ or ()):
        if own is cell:
            return name
    return ""


def _frame_step(frame: types.FrameType | None, below: Any) -> str:
    named = frames.variables(frame) if frame is not None else {}
    return next((f" -> {name}" for name, value in named.items() if value is below), "")


def _attribute_step(above: Any, below: Any) -> str:
    own = getattr(above, "__dict__", None)
    if below is own:
        return ""
    if isinstance(own, dict):
        for name, value in list(own.items()):
            if value is below:
                return f".{name}"
    for name in getattr(type(above), "__slots__", ()) or ():
        if getattr(above, name, None) is below:
            return f".{name}"
    if isinstance(above, types.MethodType):
        return ""
    for name in ("func", "args", "keywords", "grad", of_torch.base_gradient.name):
        try:
            if getattr(above, name, None) is below:
                return f".{name}"
        except Exception:  # a property of the script's own may raise anything
            continue
    return ""


def _is_namespace(value: Any, chain: list[Any]) -> bool:
    """The names of an object, class or module, and the closure of a function: no containers of the script's."""
    if value is chain[0]:
        return isinstance(value, dict) and "__builtins__" in value
    return any(
        getattr(each, "__dict__", None) is value
        or (isinstance(each, type) and isinstance(value, dict))
        or (isinstance(each, types.FunctionType) and each.__closure__ is value)
        for each in chain
    )


def _place_of(value: types.FrameType | types.FunctionType) -> str:
    if isinstance(value, types.FrameType):
        return frames.place(value)
    return frames.spelled(value.__code__.co_filename, value.__code__.co_firstlineno, value.__name__)


def _words(value: Any) -> str:
    if isinstance(value, (list, tuple, set, deque)) or type(value) is dict:
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, types.FunctionType):
        return f"function {value.__qualname__}"
    if isinstance(value, types.CellType):
        return "closure"
    if isinstance(value, types.FrameType):
        return f"frame of {value.f_code.co_name}"
    return type(value).__name__


# -- names


def _running_names() -> dict[int, _Name]:
    """Objects named by running functions; the script's own names win, the innermost first."""
    found: dict[int, _Name] = {}
    for frame in frames.stacks():
        script = frames.is_script(frame.f_code)
        if frame.f_code.co_name == "<module>":
            where, kind = str(frame.f_globals.get("__name__", "")), "global"
        else:
            where, kind = frames.place(frame), "local"
        for name, value in frames.variables(frame).items():
            if isinstance(value, (int, float, str, bytes, bool, type(None), types.ModuleType)) or name.startswith("__"):
                continue
            known = found.get(id(value))
            if known is None or (script and not known.script):
                found[id(value)] = _Name(kind, name, where, script)
    return found


def _name_of(value: Any) -> _Name | None:
    """A name that needs no running function: a module's globals, a class's, a dead function's frame."""
    if isinstance(value, types.ModuleType):
        return _Name("global", "", value.__name__, _is_script_module(value))
    if isinstance(value, dict) and "__name__" in value and "__builtins__" in value:
        module = sys.modules.get(str(value["__name__"]))
        script = module is not None and vars(module) is value and _is_script_module(module)
        return _Name("global", "", str(value["__name__"]), script)
    if value is vars(sys):
        return _Name("global", "sys", "sys", True)
    if isinstance(value, type):
        return _Name("class", value.__name__, value.__module__, _is_script_module(sys.modules.get(value.__module__)))
    return None


def _is_script_module(module: types.ModuleType | None) -> bool:
    file = getattr(module, "__file__", None)
    if module is None or file is None:
        return module is not None and module.__name__ == "__main__"
    return not (frames.is_ours(file) or frames.is_installed(file))


def _is_notebooks(name: str) -> bool:
    return (
        name.startswith(("Out[", "_oh[", "In["))
        or name.lstrip("_").split("[")[0].isdigit()
        or name in ("_", "__", "___")
    )


def _is_ours(value: Any) -> bool:
    if isinstance(value, types.FrameType):
        return frames.is_ours(value.f_code.co_filename)
    if isinstance(value, dict):
        name = value.get("__name__") if "__builtins__" in value else None
        return isinstance(name, str) and name.split(".")[0] == _OUR_MODULES
    module = type(value).__module__
    return isinstance(module, str) and module.split(".")[0] == _OUR_MODULES
