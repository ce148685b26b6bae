"""What notes are made of: classes whose annotations are their fields, without a cost at import or at a call."""

from __future__ import annotations

from typing import Any, ClassVar, Union

Bytes = int  # from 0 on
Address = int  # of device memory
Scalar = Union[str, float, bool, None]  # an option of an optimizer
Number = Union[float, str]  # "nan", "inf" and "-inf" too: JSON has none of them


class Row:
    """A JSON array of fixed length: its annotations name its places. Never made: who writes one writes a list."""


class Record:
    """A JSON object. Fields are given by their names; one without a default must be given.

    Raises `TypeError` for a field that is missing, or that no annotation names.
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

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class Note(Record):
    """A Record that is written as one line of notes, under its kind."""

    kind: ClassVar[str] = ""

    def __init_subclass__(cls, kind: str) -> None:
        cls.kind = kind


def plain(value: Any) -> Any:
    """For `json.dumps(..., default=plain)`: a note with its kind, a record, or the text of anything else."""
    if isinstance(value, Note):
        return {"kind": value.kind, **vars(value)}
    return dict(vars(value)) if isinstance(value, Record) else str(value)
