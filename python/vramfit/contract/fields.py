"""What notes are made of: classes whose annotations are their fields, without a cost at import or at a call."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar, NewType, TypeVar, Union

if TYPE_CHECKING:
    from typing import dataclass_transform
else:  # Python 3.9 has no such name, and none of it is needed while a job runs

    def dataclass_transform(**_: Any) -> Any:
        return lambda kind: kind


Bytes = int  # from 0 on
Address = int  # of device memory
PhaseName = NewType("PhaseName", str)  # of numbers.Phase, in small letters: `base/recorder.py` has them
Scalar = Union[str, float, bool, None]  # an option of an optimizer
Number = Union[float, str]  # "nan", "inf" and "-inf" too: JSON has none of them


@dataclass_transform(kw_only_default=True)
class Record:
    """A JSON object. Fields are given by their names; one without a default must be given.

    Raises `TypeError` for a field that is missing, or that no annotation names, and `AttributeError` where a value is
    given to such a name later. Types are looked at by mypy (`./test`), not while a job runs.
    """

    def __init__(self, **fields: Any) -> None:
        known = self.__class__.__annotations__
        if not fields.keys() <= known.keys():
            unknown = ", ".join(sorted(fields.keys() - known.keys()))
            raise TypeError(f"{type(self).__name__} has no field {unknown}")
        for name in known:
            if name not in fields and not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} needs {name}")
        self.__dict__.update(fields)

    if not TYPE_CHECKING:  # or mypy would take every name

        def __setattr__(self, name: str, value: Any) -> None:
            if name not in self.__class__.__annotations__:
                raise AttributeError(f"{type(self).__name__} has no field {name}")
            self.__dict__[name] = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class Note(Record):
    """A Record that is written as one line of notes, under its kind."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, kind: str) -> None:
        cls.kind = kind


class Row(Record):
    """A JSON array of fixed length: its annotations name its places, and each must be given."""


def plain(value: Any) -> Any:
    """The `default` of json.dumps: a note with its kind, a record, or the text of anything else."""
    if isinstance(value, Note):
        return {"kind": value.kind, **vars(value)}
    if isinstance(value, Row):
        return [getattr(value, name) for name in type(value).__annotations__]
    return dict(vars(value)) if isinstance(value, Record) else str(value)


Read = TypeVar("Read", bound=Record)


def read(kind: type[Read], fields: Any) -> Read:
    """A record, and those in it, of a JSON object that the command line wrote. `TypeError`: it is of another kind."""
    if not isinstance(fields, dict):
        raise TypeError(f"{kind.__name__} is no {type(fields).__name__}")
    made = dict(fields)
    for name, annotation in kind.__annotations__.items():
        inner = vars(sys.modules[kind.__module__]).get(str(annotation).partition(" | ")[0])
        if isinstance(inner, type) and issubclass(inner, Record) and made.get(name) is not None:
            made[name] = read(inner, made[name])
    return kind(**made)
