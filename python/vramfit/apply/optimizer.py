"""Another optimizer class or other options, where the script constructs its own."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from vramfit import apply
from vramfit.apply import near_names
from vramfit.contract import plans

ID = "optimizer"
# What a replacement takes over from the script's own arguments, where its class has the same argument.
# Lion's second beta is of another average than Adam's, and its decay goes with a rate of its own.
_NOT_CARRIED = MappingProxyType({"Lion8bit": ("betas",)})
_CARRIED = ("lr", "betas", "eps", "weight_decay", "maximize")


def _accepted(kind: Any) -> set[str]:
    return set(inspect.signature(kind.__init__).parameters) - {"self", "args", "kwargs"}


def _own_arguments(kind: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The script's arguments by name, positional ones included."""
    names = [name for name in inspect.signature(kind.__init__).parameters if name != "self"]
    return {**dict(zip(names, args)), **kwargs}


def _kinds(torch: Any) -> dict[str, Any]:
    base = torch.optim.Optimizer
    classes = {name: kind for name, kind in vars(torch.optim).items() if isinstance(kind, type)}
    return {name: kind for name, kind in classes.items() if issubclass(kind, base) and kind is not base}


def _means_the_same(target: Any, name: str, value: Any) -> bool:
    """Adafactor's eps is a pair, of which neither is Adam's."""
    parameter = inspect.signature(target.__init__).parameters.get(name)
    return parameter is not None and isinstance(parameter.default, tuple) == isinstance(value, (tuple, list))


def _change_options(torch: Any, kind: Any, options: dict[str, Any]) -> None:
    accepted = _accepted(kind)
    if not options or not set(options) <= accepted:
        return
    original = kind.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        arguments = {**_own_arguments(kind, args, kwargs), **options} if type(self) is kind else kwargs
        if type(self) is kind:
            if arguments.get("fused") and arguments.get("foreach"):
                arguments["foreach"] = None
            original(self, **arguments)
            apply.applied(ID, f"{kind.__name__} with " + ", ".join(f"{k}={v}" for k, v in options.items()))
        else:
            original(self, *args, **kwargs)

    kind.__init__ = init


def _find(torch: Any, name: str) -> Callable[[], Any] | None:
    """Gives the class, of torch.optim or of a package that is imported when the script makes its optimizer."""
    module, _, kind = name.rpartition(".")
    if not module:
        target = _kinds(torch).get(kind)
        return None if target is None else lambda: target
    if importlib.util.find_spec(module.split(".")[0]) is None:
        return None
    return lambda: _of_package(module, kind)


def _of_package(module: str, kind: str) -> Any:
    """Ends the job where the package lacks the class, or can't be imported: that is no fault of the script's."""
    try:
        package = importlib.import_module(module)
    except Exception as error:
        apply.refused(ID, f"{module} can't be imported: {error!r}")
        raise
    found = getattr(package, kind, None)
    if found is None:
        classes = [name for name, value in vars(package).items() if isinstance(value, type)]
        apply.refused(ID, f"{module} has no {kind}{near_names.instead_of(kind, classes)}")
    if not (isinstance(found, type) and hasattr(found, "step") and hasattr(found, "zero_grad")):
        apply.refused(ID, f"{module}.{kind} is no optimizer: it has no step() and no zero_grad()")
    return found


def _replace(torch: Any, find: Callable[[], Any], options: dict[str, Any]) -> None:
    """Every optimizer of another class becomes one of another, which is what isinstance() then sees."""
    base = torch.optim.Optimizer

    def new(kind: Any, *args: Any, **kwargs: Any) -> Any:
        # Wrappers (accelerate's, sharding ones) hold an optimizer; they are not one to replace.
        target = find()
        is_wrapper = kind.__module__.split(".")[0] in ("accelerate", "deepspeed") or "Zero" in kind.__name__
        if issubclass(kind, target) or is_wrapper:
            return object.__new__(kind)
        own = _own_arguments(kind, args, kwargs)
        names = [name for name in _CARRIED if name not in _NOT_CARRIED.get(target.__name__, ())]
        carried = {name: own[name] for name in names if name in own and _means_the_same(target, name, own[name])}
        made = object.__new__(target)
        try:
            made.__init__(own["params"], **{**carried, **options})
        except Exception as error:  # of the class that the plan names: no fault of the script's
            apply.refused(ID, f"{target.__module__}.{target.__name__} can't be made: {error!r}")
            raise
        apply.applied(ID, f"{target.__name__} instead of {kind.__name__}")
        return made

    base.__new__ = staticmethod(new)


def _missing(torch: Any, name: str) -> str:
    if "." in name:
        return f"the script's Python has no {name}"
    return f"this PyTorch has no torch.optim.{name}{near_names.instead_of(name, _kinds(torch))}"


def _untaken(kinds: list[Any], options: dict[str, Any]) -> str:
    """Why these options are none of any of these optimizers; empty where one takes each."""
    taken = {argument for kind in kinds for argument in _accepted(kind)}
    for argument in sorted(options.keys() - taken):
        whose = "no optimizer of torch.optim takes"
        if len(kinds) == 1:
            whose = f"torch.optim.{kinds[0].__name__} does not take"
        return f"{whose} {argument}{near_names.instead_of(argument, taken)}"
    return ""


def install(torch: Any, options: plans.Optimizer) -> None:
    name = options.name
    changed = dict(options.options)
    find = None if name is None else _find(torch, str(name))
    if name is not None and find is None:
        apply.refused(ID, _missing(torch, str(name)))
        return
    kinds = list(_kinds(torch).values())
    if name is not None:
        kinds = [] if find is None or "." in str(name) else [find()]
    if kinds and (why := _untaken(kinds, changed)):
        apply.refused(ID, why)
        return
    for kind in kinds:
        _change_options(torch, kind, changed)
    if find is not None:
        _replace(torch, find, changed)
