"""NumPy's arrays of objects, which hide what they hold from the collector."""

from __future__ import annotations

from typing import Any

from vramfit.base import frames
from vramfit.contract import notes as said
from vramfit.observe.holders.chains import Holder, bounded


def array_of_objects_with(target: Any) -> Holder | None:
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
                    kind: said.HolderKind = "attribute" if "." in path else "global" if is_module else "local"
                    chain = [f"{kind} {path}", f"ndarray of {array.size}"]
                    return Holder(kind, f"{path}[{index}]", where, "ndarray", int(array.size), chain)
    return None


def _place_in_array(array: Any, target: Any) -> int | None:
    kind = type(array)
    if kind.__module__.partition(".")[0] != "numpy" or kind.__name__ != "ndarray" or array.dtype != object:
        return None
    return next((index for index, each in enumerate(bounded(array.flat)) if each is target), None)
