"""How a chain of references is written, from the named variable down: `trainer.history[3]`."""

from __future__ import annotations

import re
import sys
import types
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vramfit.base import frames
from vramfit.contract import notes as said
from vramfit.private import torch as of_torch

_MAX_INDEX = 200_000  # items of a container looked through for an index
INDEX = re.compile(r"\[[^'\"\]]*\]")  # "kept[3]", "cache[(496, 22)]"; a key that is a word is a name
_KEYS = re.compile(r"\['[^']*'\]")
_REGISTERED = re.compile(r"\._(?:modules|buffers|parameters)\['(\w+)'\]")


@dataclass
class Holder:
    """Where a chain ends, as model::Holder (src/model/runtime_evidence.h)."""

    kind: said.HolderKind = "unknown"
    name: str = ""
    where: str = ""
    container: str = ""
    length: int = -1
    chain: list[str] = field(default_factory=list)
    filled_at: list[str] = field(default_factory=list)
    # The outermost container that it lies in, by a number or a word, and the container's own name.
    many: Any = None
    name_of_many: str = ""

    def for_note(self) -> said.Holder:
        """The holder as a note has it."""
        return said.Holder(
            kind=self.kind,
            name=self.name,
            where=self.where,
            container=self.container,
            length=self.length,
            chain=self.chain,
            filled_at=self.filled_at,
        )


def describe(chain: list[Any], kind: said.HolderKind, name: str, where: str) -> Holder:
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
        if holder.many is None and _holds_many(above) and step.startswith("["):
            holder.many, holder.name_of_many = above, holder.name
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
        # A bound that can be read tells growth that ends from a leak.
        bound = direct.maxlen if isinstance(direct, deque) else None
        holder.container = type(direct).__name__ + (f"(maxlen={bound})" if bound is not None else "")
        holder.length = len(direct)
    holder.chain = holder.chain[:1] + [words for words in holder.chain[1:] if words][-10:]
    return holder


def _holds_many(value: Any) -> bool:
    return isinstance(value, (list, dict, deque))


def steps_below(value: Any) -> Iterable[tuple[str, Any]]:
    """What a container or an object of the script's own holds, each with how it is written after it."""
    if isinstance(value, dict):
        return [(f"[{_shown(key)}]", each) for key, each in bounded(value.items())]
    if isinstance(value, (list, tuple, deque)):
        return [("[]", each) for each in bounded(value)]
    if isinstance(value, (set, frozenset)):
        return [("", each) for each in bounded(value)]
    return [(f".{name}", each) for name, each in bounded(vars(value).items())] if frames.is_script_object(value) else []


def _key(step: str) -> str:
    return step.removeprefix("['").removesuffix("']")


def _step(above: Any, below: Any) -> tuple[str, said.HolderKind | None]:
    """How `below` is written after `above`, and the kind of holder that this makes of the whole, if it tells one."""
    if isinstance(above, dict):
        key = next((key for key, value in bounded(above.items()) if value is below), None)
        return (f"[{_shown(key)}]" if key is not None else "", "hook" if _is_hooks(above, key) else None)
    if isinstance(above, (list, tuple, deque)):
        index = next((i for i, value in enumerate(bounded(above)) if value is below), None)
        if index is None or isinstance(below, types.CellType):
            return "", None
        return f"[{index}]", None
    if isinstance(above, types.CellType):
        return "", "closure"
    if isinstance(above, types.FunctionType):
        return _closure_step(above, below), None
    if isinstance(above, (types.TracebackType, BaseException)):
        return "", "exception"
    if isinstance(above, types.FrameType):
        return _frame_step(above, below), None
    if isinstance(above, types.GeneratorType):
        return _frame_step(above.gi_frame, below), "generator"
    return _attribute_step(above, below), None


def _shown(key: Any) -> str:
    """A key as it is written; of an object only its class: the words of a parameter are its values."""
    return repr(key) if isinstance(key, (str, int, float, tuple, bytes)) else type(key).__name__


def bounded(items: Iterable[Any]) -> Iterable[Any]:
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


def _is_notebooks(name: str) -> bool:
    return (
        name.startswith(("Out[", "_oh[", "In["))
        or name.lstrip("_").split("[")[0].isdigit()
        or name in ("_", "__", "___")
    )
