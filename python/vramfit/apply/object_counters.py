"""Numbers in a script's own objects, globals and closures that go on from batch to batch, where a batch has parts.

    self.global_step += 1                       of a Trainer, a schedule, an average of weights
    if self.global_step >= 2000: ...            decides something

What the loop's own function carries over by name is read (own_counters.py). Everything else that the script's
functions on the stack can reach is compared: before each further part of a batch a whole number that advanced, and
that decides anything, is put back to what it was before the first. So each part sees what the whole batch would have
seen, and it has advanced once when the batch is over. What differs from part to part (a number of right answers) goes
on as it was, and so does what is only printed or divided by. A number with a fraction that goes on by a rule of its
own is refused, and so is a copy of the weights that is changed before the optimizer has stepped.
"""

from __future__ import annotations

import ast
import dis
import math
import sys
import weakref
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from vramfit.apply import loop_flow
from vramfit.apply.module_counters import plain_numbers_of
from vramfit.apply.split_sampler import Share
from vramfit.base import frames, process
from vramfit.private import torch as of_torch
from vramfit.steer.counting_on.scripts import source_of_file

_MAX_FRAMES = 60
_DEPTH = 4  # of objects and containers within one another
_MOST = 64  # entries of a container that are looked at, and of an object
_FEWEST_COPIES = 2  # tensors of the shapes of weights that make a copy of them
_VALUES = frozenset({"max", "min", "int", "float", "round", "abs", "str"})
_Place = tuple[int, Any]


class _Number:
    """The place of a number. `holder`: an object's or a module's dictionary, an optimizer's group, or a cell."""

    def __init__(self, holder: Any, key: Any, label: str) -> None:
        self.holder, self.key, self.label = holder, key, label

    @property
    def place(self) -> _Place:
        return id(self.holder), self.key

    @property
    def is_setting(self) -> bool:
        """Whether it belongs to a group of an optimizer."""
        return isinstance(self.holder, dict) and isinstance(self.holder.get("params"), list)

    @property
    def kind(self) -> type[ast.expr]:
        """How code reads it: a global's or a closure's name, an entry of a dictionary, or an attribute."""
        if isinstance(self.holder, CellType) or "__builtins__" in self.holder:
            return ast.Name
        return ast.Subscript if self.label.endswith("]`") else ast.Attribute

    def write(self, value: Any) -> None:
        if isinstance(self.holder, CellType):
            self.holder.cell_contents = value
        else:
            self.holder[self.key] = value


class _Seen:
    """What the script's functions reach at one moment."""

    def __init__(self) -> None:
        self.numbers: dict[_Place, tuple[_Number, Any]] = {}
        self.copies: dict[int, tuple[str, list[tuple[int, int]]]] = {}  # of weights: ids of tensors, counts of writes


class ObjectCounters:
    def __init__(self, torch: Any, stop: Callable[[str], None]) -> None:
        self._torch, self._stop = torch, stop
        self._optimizers: list[weakref.ref[Any]] = []
        self._files: set[str] = set()
        self._left: set[_Place] = set()  # goes on with each part
        self._before = _Seen()
        self._after: dict[_Place, Any] = {}  # what the first part made of those that were put back
        self._fractions: dict[_Place, list[Any]] = {}

    def learn_optimizer(self, optimizer: Any) -> None:
        self._optimizers.append(weakref.ref(optimizer))

    def begin_part(self, frame: FrameType | None, share: Share) -> None:
        now = self._look(frame)
        self._look_at_fractions(now)
        if share.is_first:
            self._before, self._after = now, {}
            return
        for label in self._changed_copies(now):
            self._stop(f"{label}, a copy of weights, is changed with each part of a batch, before the step")
        for number, before, value in self._advanced(now):
            self._return(number, before, value)

    def _advanced(self, now: _Seen) -> Iterator[tuple[_Number, Any, Any]]:
        """Whole numbers that decide something, and settings of optimizers, that are others than before the batch."""
        for place, (number, value) in now.numbers.items():
            if place not in self._before.numbers or place in self._left:
                continue
            before = self._before.numbers[place][1]
            if type(value) is not type(before) or value == before:
                continue
            if number.is_setting:
                yield number, before, value
            elif isinstance(value, int):
                if _decides(number.key, number.kind, self._files):
                    yield number, before, value
                else:
                    self._left.add(place)

    def begin(self, frame: FrameType | None) -> None:
        """What has gone on so far is of no batch: `find_advanced` tells what does from here on."""
        self._before = self._look(frame)

    def find_advanced(self, frame: FrameType | None) -> Iterator[str]:
        """The numbers that have gone on with the last batch, but for rates. Asked as the next one is drawn, or its pass
        is over, in a job whose batches are whole."""
        now = self._look(frame)
        for number, _, _ in self._advanced(now):
            if not number.is_setting:
                yield f"{number.label} goes on with each batch, and decides something"
        for label in self._changed_copies(now):
            yield f"{label}, a copy of weights, is changed after each batch"
        self._before = now

    def _return(self, number: _Number, before: Any, value: Any) -> None:
        if self._before.copies and not number.is_setting:
            copy = next(iter(self._before.copies.values()))[0]
            self._stop(
                f"{number.label} goes on with each part of a batch and decides something, beside {copy}, which may be "
                f"an average of the weights: it would be changed with each part"
            )
            return
        first = self._after.setdefault(number.place, value)
        if first == value:
            number.write(before)
            return
        if number.is_setting:
            self._stop(f"{number.label} is set by what the parts of a batch are: to {first}, then to {value}")
            return
        self._left.add(number.place)
        number.write(first + (value - before))

    def _look_at_fractions(self, now: _Seen) -> None:
        """One that goes on by a rule of its own: the same again, or the same share."""
        for place, (number, value) in now.numbers.items():
            if isinstance(value, int) or number.is_setting or place in self._left:
                continue
            seen = self._fractions.setdefault(place, [])
            seen.append(value)
            if len(seen) < 4:
                continue
            self._fractions[place] = []
            if not _goes_on_by_rule(seen):
                continue
            if _decides(number.key, number.kind, self._files):
                self._stop(f"{number.label} goes on with each part of a batch, by a rule of its own")
            self._left.add(place)

    def _changed_copies(self, now: _Seen) -> Iterator[str]:
        for holder, (label, tensors) in now.copies.items():
            before = self._before.copies.get(holder)
            if before is not None and before[1] != tensors:
                yield label

    # -- what is reached

    def _look(self, frame: FrameType | None) -> _Seen:
        seen = _Seen()
        walk = _Walk(self._torch, seen, self._trained())
        for place in frames.script_frames(frame, _MAX_FRAMES):
            self._files.add(place.f_code.co_filename)
            walk.frame(place)
        for each in self._optimizers:
            if (optimizer := each()) is not None:
                for at, group in enumerate(optimizer.param_groups):
                    for key, value in group.items():
                        walk.number(group, key, value, f"`param_groups[{at}][{key!r}]`")
        return seen

    def _trained(self) -> dict[int, Any]:
        """Shapes of what optimizers step, by id."""
        return {
            id(parameter): parameter.shape
            for each in self._optimizers
            if (optimizer := each()) is not None
            for group in optimizer.param_groups
            for parameter in group["params"]
        }


class _Walk:
    def __init__(self, torch: Any, seen: _Seen, trained: dict[int, Any]) -> None:
        self._torch, self._into, self._trained = torch, seen, trained
        self._shapes = set(trained.values())
        self._seen: set[int] = set()

    def frame(self, frame: FrameType) -> None:
        code = frame.f_code
        local = frames.variables(frame)
        for name, value in local.items():
            self._look_at(value, _DEPTH, name)
        if code.co_name != "<module>":
            for name in code.co_names:
                if name in frame.f_globals:
                    self._look_at(frame.f_globals[name], _DEPTH, name)
        local.clear()
        self._globals(frame.f_globals)

    def _globals(self, names: dict[str, Any]) -> None:
        """Those that a function of the module writes: what the module's own code carries over is read."""
        if id(names) in self._seen:
            return
        self._seen.add(id(names))
        for function in [value for value in list(names.values()) if isinstance(value, FunctionType)]:
            if function.__globals__ is names:
                for name in _written_globals(function.__code__):
                    self.number(names, name, names.get(name), f"`{name}`")

    def number(self, holder: Any, key: Any, value: Any, label: str) -> None:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            number = _Number(holder, key, label)
            self._into.numbers[number.place] = number, value

    def _look_at(self, value: Any, depth: int, name: str) -> None:
        if depth <= 0 or value is None or id(value) in self._seen:
            return
        if isinstance(value, self._torch.nn.Module):
            self._module(value, name)
        elif type(value) is dict or isinstance(value, (list, tuple)):
            self._seen.add(id(value))
            items = list(value.items() if isinstance(value, dict) else enumerate(value))
            self._copies(value, [item for _, item in items if isinstance(item, self._torch.Tensor)], name)
            for key, item in items[:_MOST]:
                if isinstance(value, dict) and isinstance(key, str):
                    self.number(value, key, item, f"`{name}[{key!r}]`")
                self._look_at(item, depth - 1, f"{name}[{key!r}]" if isinstance(key, (str, int)) else name)
        elif isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, (type, ModuleType, str, bytes, int, float, self._torch.Tensor)):
            return
        elif frames.is_script_object(value):
            self._seen.add(id(value))
            attributes = vars(value)
            for key, item in list(attributes.items())[:_MOST]:
                self.number(attributes, key, item, f"`{type(value).__name__}.{key}`")
                self._look_at(item, depth - 1, f"{type(value).__name__}.{key}")

    def _function(self, function: FunctionType) -> None:
        self._seen.add(id(function))
        if not frames.is_script(function.__code__):
            return
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            if name in _written_cells(function.__code__):
                try:
                    self.number(cell, name, cell.cell_contents, f"`{name}`")
                except ValueError:  # empty
                    continue

    def _module(self, module: Any, name: str) -> None:
        self._seen.add(id(module))
        for owner, key, item in plain_numbers_of(module):
            self.number(vars(owner), key, item, f"`{type(owner).__name__}.{key}`")
        parameters = list(module.parameters())
        is_average = isinstance(module, self._torch.optim.swa_utils.AveragedModel)  # put off until the step
        if not is_average and not any(id(parameter) in self._trained for parameter in parameters):
            self._copies(module, parameters, name)

    def _copies(self, holder: Any, tensors: list[Any], name: str) -> None:
        """Tensors that are not trained, of the shapes of what is."""
        alike = [one for one in tensors if one.shape in self._shapes and id(one) not in self._trained]
        if len(alike) >= _FEWEST_COPIES:
            self._into.copies[id(holder)] = f"`{name}`", [(id(one), of_torch.writes.of(one, 0)) for one in alike]


def _goes_on_by_rule(values: list[float]) -> bool:
    """Four that follow one another."""
    if not all(map(math.isfinite, values)) or values[0] == values[1]:
        return False
    pairs = list(zip(values, values[1:], strict=False))
    steps = [later - earlier for earlier, later in pairs]
    shares = [later / earlier for earlier, later in pairs if earlier]
    return _are_alike(steps) or (len(shares) == len(pairs) and _are_alike(shares))


def _are_alike(values: list[float]) -> bool:
    return all(math.isclose(value, values[0], rel_tol=1e-9) for value in values)


@process.cached()
def _written_globals(code: CodeType) -> frozenset[str]:
    return frozenset(_stored_in(code, "STORE_GLOBAL"))


@process.cached()
def _written_cells(code: CodeType) -> frozenset[str]:
    return frozenset(_stored_in(code, "STORE_DEREF"))


def _stored_in(code: CodeType, operation: str) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname == operation:
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _stored_in(constant, operation)


# -- what a number is read for


def _decides(name: str, kind: type[ast.expr], running: set[str]) -> bool:
    """Whether some code of the script does more with it than count, print, or divide by it. `running`: files of the
    functions on the stack, of which a script that is run by others is no module."""
    modules = {str(getattr(module, "__file__", None)) for module in list(sys.modules.values())}
    files = running | {file for file in modules if file.endswith(".py") and frames.is_script_file(file)}
    return any(_decides_in(file, name, kind) for file in sorted(files))


@process.cached()
def _decides_in(file: str, name: str, kind: type[ast.expr]) -> bool:
    source = source_of_file(file)
    if source is None:
        return False
    parents = {child: node for node in ast.walk(source.tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(source.tree):
        is_it = type(node) is kind and _name_of(node) == name
        if is_it and isinstance(getattr(node, "ctx", None), ast.Load) and _is_needed(node, name, parents):
            return True
    return False


def _name_of(node: ast.AST) -> Any:
    if isinstance(node, ast.Subscript):
        return getattr(node.slice, "value", None)
    return getattr(node, "attr", getattr(node, "id", None))


def _is_needed(node: ast.AST, name: str, parents: dict[ast.AST, ast.AST]) -> bool:
    while (parent := parents.get(node)) is not None:
        if _only_tells(node, parent, name):
            return False
        if isinstance(parent, ast.stmt) or (isinstance(parent, ast.Call) and ast.unparse(parent.func) not in _VALUES):
            return True
        node = parent
    return True


def _only_tells(node: ast.AST, parent: ast.AST, name: str) -> bool:
    """Whether what is made of a number here is for people, its own next value, or a share of something by it."""
    if isinstance(parent, (ast.JoinedStr, ast.FormattedValue, ast.Expr)):
        return True
    if isinstance(parent, ast.Call):
        return node is parent.func or loop_flow.only_looks(ast.unparse(parent.func))
    if isinstance(parent, ast.BinOp):
        is_share = isinstance(parent.op, (ast.Div, ast.FloorDiv)) and node is parent.right
        left = parent.left.value if isinstance(parent.left, ast.Constant) else ""
        return is_share or (isinstance(parent.op, ast.Mod) and isinstance(left, str) and left != "")
    if isinstance(parent, (ast.Assign, ast.AugAssign)):
        targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
        return any(_name_of(each) == name for each in targets)
    return False
