"""Every note that the hooks write: its kind, its fields and their types.

A new note is a class in the file of its concern and a call of `notes.note(...)`; `tools/generate_contract` makes the
rest of it (see CONTRIBUTING.md). Types: `str`, `int`, `bool`, `float`, those of `fields.py`, records and rows of the
same file, and `list[...]`, `dict[str, ...]` and `... | None` of these; `Literal[...]`, under a name, of a text that is
one of a few words, an enumeration in C++: any other is counted as lost. What is decided by a note is a field of its
own: a sentence for people may be written anew. A comment after a field is its line in `docs/notes.md`.
"""

# ruff: noqa: F403 - what the files have is what this package has: `said.Cut`, wherever that stands
from __future__ import annotations

from vramfit.contract.notes.causes import *
from vramfit.contract.notes.comparison import *
from vramfit.contract.notes.data import *
from vramfit.contract.notes.growth import *
from vramfit.contract.notes.left_out import *
from vramfit.contract.notes.modules import *
from vramfit.contract.notes.other_programs import *
from vramfit.contract.notes.plans import *
from vramfit.contract.notes.process import *
from vramfit.contract.notes.training import *
