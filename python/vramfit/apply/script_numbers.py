"""The numbers in a script's own source and on its command line, and what it does with them."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from vramfit.base import process

_LIBRARY = ("/site-packages/", "/dist-packages/", "/lib/python", os.path.dirname(os.path.dirname(__file__)))
_MOST_FILES, _MOST_CHARACTERS = 200, 400_000
_DIVIDING = ("div", "divide", "true_divide")
_SIZES = ("len", "size", "numel")  # functions that tell a number of samples, or of what hangs on it
_OPTION = "add_argument"


class Numbers(NamedTuple):
    all: frozenset[float]
    divisors: frozenset[float]  # what something is divided by, as they stand or by the name that they were given
    times: frozenset[float]  # what something is multiplied by, and what has a name of its own
    has_inverses: bool  # one over a size is taken somewhere, to multiply by it


@process.cached()
def of_script() -> Numbers:
    nodes = [node for tree in _trees() for node in ast.walk(tree)]
    named = dict[str, set[float]]()
    for name, number in (*_of_command_line(), *(pair for node in nodes for pair in _named(node))):
        named.setdefault(name, set()).add(number)
    divisors = [each for node in nodes for each in _divided_by(node)]
    of_names = [named.get(_name(each), set()) for each in divisors]
    sizes = {name for node in nodes for name, value in _assigned(node) if _tells_size(value, frozenset())}
    words = {number for word in sys.argv[1:] for number in _number(word.rpartition("=")[2])}
    return Numbers(
        all=frozenset(words.union(*(_numbers(node) for node in nodes))),
        divisors=frozenset(set().union(*map(_numbers, divisors), *of_names)),
        times=frozenset(words.union(*(_numbers(each) for node in nodes for each in _multiplied_or_named(node)))),
        has_inverses=any(_is_inverse(node, frozenset(sizes)) for node in nodes),
    )


def _trees() -> Iterator[ast.AST]:
    for path in _files():
        try:
            with open(path, encoding="utf-8") as file:
                yield ast.parse(file.read(_MOST_CHARACTERS))
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue


def _files() -> list[str]:
    paths = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    own = {path for path in paths if path and path.endswith(".py") and not any(each in path for each in _LIBRARY)}
    return sorted(own)[:_MOST_FILES]


def _numbers(node: Any) -> list[float]:
    value = node.value if isinstance(node, ast.Constant) else None
    return [float(value)] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def _number(word: str) -> list[float]:
    try:
        return [float(word)]
    except ValueError:
        return []


def _name(node: Any) -> str:
    """`norm` of `norm`, `args.norm` and `config["norm"]`."""
    if isinstance(node, ast.Subscript):
        node = node.slice
    value = node.value if isinstance(node, ast.Constant) else ""
    return _plain(
        str(getattr(node, "id", "") or getattr(node, "attr", "") or (value if isinstance(value, str) else ""))
    )


def _plain(name: str) -> str:
    """The option `--loss-norm` is `args.loss_norm` in the source."""
    return "".join(filter(str.isalnum, name))


def _of_command_line() -> Iterator[tuple[str, float]]:
    """`--norm 2`, `--norm=2` and `loss.norm=2`."""
    for word, following in zip(sys.argv[1:], [*sys.argv[2:], ""]):
        name, _, value = word.partition("=")
        for number in _number(value or following):
            yield _plain(name.rpartition(".")[2]), number


def _assigned(node: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(node, ast.Assign):
        yield from ((_name(target), node.value) for target in node.targets)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield _name(node.target), node.value


def _named(node: Any) -> Iterator[tuple[str, float]]:
    found: Iterable[tuple[str, Any]] = ()
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)):
        found = _assigned(node)
    elif isinstance(node, ast.keyword) and node.arg:
        found = [(node.arg, node.value)]
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        given = [*node.args.posonlyargs, *node.args.args]
        of_positions = zip(given[len(given) - len(node.args.defaults) :], node.args.defaults)
        found = [
            (argument.arg, value)
            for argument, value in (*of_positions, *zip(node.args.kwonlyargs, node.args.kw_defaults))
        ]
    elif isinstance(node, ast.Dict):
        found = [(_name(key), value) for key, value in zip(node.keys, node.values)]
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == _OPTION:
        defaults = [each.value for each in node.keywords if each.arg == "default"]
        options = [str(each.value) for each in node.args if isinstance(each, ast.Constant)]
        found = [(name, value) for name in options for value in defaults]
    yield from ((_plain(name), number) for name, value in found for number in _numbers(value))


def _divided_by(node: Any) -> Iterator[Any]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield node.right
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
        yield node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _DIVIDING:
        yield from node.args


def _multiplied_or_named(node: Any) -> Iterator[Any]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from (node.left, node.right)
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.keyword)) and node.value is not None:
        yield node.value
    elif isinstance(node, ast.FunctionDef):
        yield from (each for each in (*node.args.defaults, *node.args.kw_defaults) if each is not None)
    elif isinstance(node, ast.Dict):
        yield from node.values


def _is_inverse(node: Any, sizes: frozenset[str]) -> bool:
    is_quotient = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
    return is_quotient and bool(_numbers(node.left)) and _tells_size(node.right, sizes)


def _tells_size(node: Any, sizes: frozenset[str]) -> bool:
    """Whether it is made of a size; `sizes`: names of what is."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call) and _name(each.func) in _SIZES:
            return True
        if isinstance(each, ast.Attribute) and each.attr == "shape":
            return True
        if isinstance(each, (ast.Name, ast.Attribute)) and _name(each) in sizes:
            return True
    return False
