"""Where a script has a library make its network by a name or a config: timm, torchvision, transformers.

Whether a smaller one of its family takes its place, a plan decides (apply/smaller_model.py).
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from vramfit.base import importing, notes, process
from vramfit.base.around import around
from vramfit.contract import notes as said
from vramfit.observe import network_families as families

# Maps the library and the name of a network to that which is made in its place; None: it is made as it is.
Chooser = Callable[[str, str], "str | None"]


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.noted: set[tuple[str, str]] = set()
        self.depth = 0  # of makers that call others
        self.loading = 0  # of from_pretrained: weights of a checkpoint go in
        self.choose: Chooser | None = None
        self.after: Callable[[str, BaseException | None], None] | None = None  # what became of the one in its place
        self.made: set[str] = set()  # names


_state = process.own(_State)


def choose_by(choose: Chooser, after: Callable[[str, BaseException | None], None]) -> None:
    _state.choose, _state.after = choose, after


def made() -> set[str]:
    return _state.made


@notes.guarded("network_makers")
def _tell(library: str, name: str, weights: int, smaller: list[str], loaded: bool) -> None:
    if not name or (library, name) in _state.noted:
        return
    _state.noted.add((library, name))
    notes.note(said.NetworkMade(library=library, name=name, weights=weights, smaller=smaller, loaded=loaded))


def _make(library: str, name: str, known: Callable[[], list[str]], loaded: bool, make: Callable[[str], Any]) -> Any:
    """Calls `make` with the name, or with that of a smaller one. Makers within makers are left alone."""
    if _state.depth:
        return make(name)
    _state.depth += 1
    try:
        _state.made.add(name)
        other = _state.choose(library, name) if _state.choose is not None else None
        network = _make_other(other, make) if other is not None else make(name)
    finally:
        _state.depth -= 1
    if other is None and hasattr(network, "parameters"):
        weights = sum(parameter.numel() for parameter in network.parameters())
        _tell(library, name, weights, families.smaller_names(name, known()), loaded)
    return network


def _make_other(name: str, make: Callable[[str], Any]) -> Any:
    assert _state.after is not None
    try:
        network = make(name)
    except Exception as error:
        _state.after(name, error)
        raise
    _state.after(name, None)
    return network


def _put_in_place(package: str, original: Any, wrapped: Any) -> None:
    """Puts it under every name by which the package's modules have it."""
    for name, module in list(sys.modules.items()):
        if name != package and not name.startswith(package + "."):
            continue
        for own, value in list(vars(module).items()):
            if value is original:
                setattr(module, own, wrapped)


# -- timm


def _after_timm(timm: ModuleType) -> None:
    original = timm.create_model

    @functools.wraps(original)
    def create_model(model_name: str, *args: Any, **kwargs: Any) -> Any:
        pretrained = bool(args[0]) if args else bool(kwargs.get("pretrained", False))
        loaded = pretrained or bool(kwargs.get("checkpoint_path"))

        def make(name: str) -> Any:
            return original(name, *args, **kwargs)

        return _make("timm", model_name, lambda: list(timm.list_models()), loaded, make)

    _put_in_place("timm", original, create_model)


# -- torchvision


def _after_torchvision(models: ModuleType) -> None:
    names = list(models.list_models())
    builders = {name: models.get_model_builder(name) for name in names}
    original = models.get_model

    @functools.wraps(original)
    def get_model(name: str, **config: Any) -> Any:
        loaded = _has_weights((), config)
        return _make("torchvision", name.lower(), lambda: names, loaded, lambda one: original(one, **_plain(config)))

    for name, builder in builders.items():
        _put_in_place("torchvision", builder, _watch_builder(name, builder, builders))
    _put_in_place("torchvision", original, get_model)


def _watch_builder(own: str, original: Any, builders: dict[str, Any]) -> Any:
    @functools.wraps(original)
    def build(*args: Any, **kwargs: Any) -> Any:
        def make(name: str) -> Any:
            return original(*args, **kwargs) if name == own else builders[name](*args, **_plain(kwargs))

        return _make("torchvision", own, lambda: list(builders), _has_weights(args, kwargs), make)

    return build


def _has_weights(args: tuple[Any, ...], given: dict[str, Any]) -> bool:
    names = ("weights", "weights_backbone", "pretrained", "pretrained_backbone")
    return bool(args and args[0]) or any(given.get(name) for name in names)


def _plain(given: dict[str, Any]) -> dict[str, Any]:
    """Weights of an enumeration by their names: a smaller network has an enumeration of its own."""
    return {key: getattr(value, "name", value) if key.startswith("weights") else value for key, value in given.items()}


# -- transformers


def _after_transformers(modeling: ModuleType) -> None:
    model_class = modeling.PreTrainedModel
    init, from_pretrained = model_class.__init__, model_class.from_pretrained.__func__

    def initialise(_: Any, config: Any, *__: Any, **___: Any) -> Iterator[Any]:
        _at_config(config)
        yield

    @functools.wraps(from_pretrained)
    def load(cls: Any, *args: Any, **kwargs: Any) -> Any:
        _state.loading += 1
        try:
            return from_pretrained(cls, *args, **kwargs)
        finally:
            _state.loading -= 1

    model_class.__init__ = around("network_makers.config", init, initialise)
    model_class.from_pretrained = classmethod(load)


def _at_config(config: Any) -> None:
    name, weights, smaller = families.describe_config(config)
    if not name:
        return
    _state.made.add(name)
    loaded = _state.loading > 0
    other = _state.choose("transformers", name) if _state.choose is not None else None
    member = families.find_member(other) if other is not None else None
    if member is None:
        _tell("transformers", name, weights, smaller, loaded)
        return
    assert _state.after is not None
    if loaded:
        reason = RuntimeError("its weights come from a checkpoint, which has none for a smaller network")
        _state.after(member.name, reason)
        return
    for key, value in member.sizes.items():
        setattr(config, key, value)
    _state.after(member.name, None)


def install() -> None:
    importing.after_import("timm", _after_timm)
    importing.after_import("torchvision.models", _after_torchvision)
    importing.after_import("transformers.modeling_utils", _after_transformers)
