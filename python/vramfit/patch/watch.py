"""Notes the places (places.py) while the job runs, on the events that the techniques of a plan act upon."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from vramfit.apply.module_counters import carried_in
from vramfit.apply.object_counters import ObjectCounters
from vramfit.base import events, frames, process
from vramfit.base.around import around
from vramfit.base.recorder import TRAIN
from vramfit.observe import loaders, scopes
from vramfit.observe.loaders import Pass
from vramfit.observe.phases import position
from vramfit.patch.places import LoaderPlace, OptimizerPlace, attributes_of, here, names_of, places, scope_of
from vramfit.steer import gathering

_LOOKED_AT = 3  # batches of a pass


class _State:
    KEEPS = process.ALL

    def __init__(self) -> None:
        self.last = ""  # of a training step: batch, backward, step
        self.numbers: ObjectCounters | None = None
        self.of_modules: dict[tuple[int, str], Any] = {}  # that their forwards carry over
        self.without_graph: Any = None  # key of the place where such a forward runs


_state = process.own(_State)


def _script_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not frames.is_script(frame.f_code):
        frame = frame.f_back
    return frame


# -- data loaders


def _watch_construction(torch: Any) -> None:
    kind = torch.utils.data.DataLoader

    def init(loader: Any, *_: Any, **__: Any) -> Iterator[Any]:
        loader.__dict__["_vramfit_made"] = here(sys._getframe(1))
        yield

    kind.__init__ = around("patch.loader", kind.__init__, init)


def _before_pass(this_pass: Pass) -> None:
    known = places.loaders.setdefault(this_pass.ordinal, LoaderPlace())
    known.made = known.made or this_pass.loader.__dict__.get("_vramfit_made")
    place, frame = here(sys._getframe(1)), _script_frame()
    if place is not None and frame is not None and place.key() not in known.fetched:
        known.fetched[place.key()] = place
        known.names[place.key()] = names_of(this_pass.loader, frame)


def _on_batch(this_pass: Pass, batch: Any) -> None:
    _state.last = "batch"
    known = places.loaders.get(this_pass.ordinal)
    if known is not None and this_pass.delivered <= _LOOKED_AT:
        lengths: set[int] = set()
        known.splittable = known.splittable and _adds_lengths(batch, lengths) and len(lengths) == 1
        places.uneven_mean = places.uneven_mean or _leaves_out(batch)
        if _state.numbers is None or places.counted:
            return
        if this_pass.delivered == 1:  # what went on between two passes does once an epoch, in parts as well
            _state.numbers.begin(sys._getframe(1))
        else:
            places.counted.extend(_state.numbers.find_advanced(sys._getframe(1)))


def _after_pass(this_pass: Pass) -> None:
    """The last batch of a pass, which may be its only one, goes on too."""
    if _state.numbers is not None and not places.counted and 0 < this_pass.delivered <= _LOOKED_AT:
        places.counted.extend(_state.numbers.find_advanced(sys._getframe(1)))


def _adds_lengths(value: Any, lengths: set[int]) -> bool:
    """Whether these are tensors of rows, in plain containers, and nothing else."""
    if hasattr(value, "dim"):
        lengths.add(int(value.shape[0]) if value.dim() else -1)
        return value.dim() > 0
    if type(value) is dict:
        return all([_adds_lengths(item, lengths) for item in value.values()])
    return type(value) in (list, tuple) and all([_adds_lengths(item, lengths) for item in value])


_LEFT_OUT = -100  # the default of ignore_index


def _leaves_out(value: Any) -> bool:
    """Whether labels of this batch count for nothing in a cross entropy."""
    if isinstance(value, dict):
        return any(_leaves_out(item) for item in value.values())
    if isinstance(value, (list, tuple)):
        return any(_leaves_out(item) for item in value)
    is_label = hasattr(value, "dim") and not value.is_floating_point() and not value.is_cuda and value.dim() > 0
    return is_label and bool((value == _LEFT_OUT).any())


def _watch_losses(torch: Any) -> None:
    """Means over labels that do not all count the same are no means over samples."""

    def watched(original: Any) -> Any:
        names = list(inspect.signature(original).parameters)

        @functools.wraps(original)
        def loss(*args: Any, **kwargs: Any) -> Any:
            given = {**dict(zip(names, args)), **kwargs}
            is_even = given.get("weight") is None and given.get("ignore_index", _LEFT_OUT) == _LEFT_OUT
            if not is_even and given.get("reduction", "mean") == "mean":
                places.uneven_mean = True
            return original(*args, **kwargs)

        return loss

    for name in ("cross_entropy", "nll_loss"):
        setattr(torch.nn.functional, name, watched(getattr(torch.nn.functional, name)))


# -- the training step


def _on_weight(place: str) -> None:
    places.weighed_otherwise = places.weighed_otherwise or place


def _on_root(module: Any, args: Any, kwargs: Any) -> None:
    root = scopes.root_of(module)
    if root is None:
        return
    if position.phase == TRAIN and sys.modules["torch"].is_grad_enabled():
        _look_at_numbers_of(scopes.unwrap(module))  # losses with a schedule of their own have no parameters
    if not root.parameters:
        return
    place = here(sys._getframe(1))
    if place is None:
        return
    if position.phase == TRAIN and sys.modules["torch"].is_grad_enabled():
        if place.key() not in {one.key() for one in places.forwards}:
            places.forwards.append(place)
        return
    places.add("without_graph", place)
    _state.without_graph = place.key()
    if not module.training:
        places.add("evaluation", place)


def _look_at_numbers_of(root: Any) -> None:
    for name, value, line in carried_in(root):
        before = _state.of_modules.get((id(root), name))
        _state.of_modules[id(root), name] = value
        if before is not None and before != value and not places.counted:
            places.counted.append(f"`{name}` changes with each forward ({line})")


def _on_root_exit(module: Any, result: Any) -> None:
    key, _state.without_graph = _state.without_graph, None
    if key is not None and not (hasattr(result, "dim") and result.is_floating_point()):
        places.not_one_tensor.add(key)


def _on_backward(tensors: Any) -> None:
    place = here(sys._getframe(1))
    _state.last = "backward"
    this_pass = loaders.innermost()
    if this_pass is not None and this_pass.ordinal in places.loaders:
        places.loaders[this_pass.ordinal].trained = True
    if place is None:
        return
    places.add("backward", place)
    if places.forwards:
        places.regions.setdefault(place.key(), (list(places.forwards), place))
        places.forwards.clear()


def _on_step(optimizer: Any) -> None:
    places.add("step", here(sys._getframe(1)))
    places.stepped_on.update(str(each.device) for group in optimizer.param_groups for each in group["params"])
    _state.last = "step"


def _watch_calls(owner: Any, name: str, kind: str, only_in_pass: bool = True) -> None:
    def call(*_: Any, **__: Any) -> Iterator[Any]:
        if not only_in_pass or loaders.innermost() is not None:
            places.add(kind, here(sys._getframe(1)))
        yield

    setattr(owner, name, around(f"patch.{kind}", getattr(owner, name), call))


def _watch_zeroing(owner: Any) -> None:
    def zero_grad(_: Any, set_to_none: bool = True) -> Iterator[Any]:
        place = here(sys._getframe(1))
        if not set_to_none:
            places.add("gradients_kept", place)
        if loaders.innermost() is not None:
            places.add("zero_late" if _state.last == "step" else "zero_early", place)
        yield

    owner.zero_grad = around("patch.zero_grad", owner.zero_grad, zero_grad)


def _watch_training_calls(torch: Any) -> None:
    from torch.nn.utils import clip_grad

    _watch_zeroing(torch.optim.Optimizer)
    _watch_zeroing(torch.nn.Module)
    schedulers = torch.optim.lr_scheduler
    for kind in {one for one in vars(schedulers).values() if isinstance(one, type) and "step" in vars(one)}:
        _watch_calls(kind, "step", "scheduler")
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        _watch_calls(clip_grad, name, "clip")
        setattr(torch.nn.utils, name, getattr(clip_grad, name))
    for name in ("unscale_", "step", "update"):
        _watch_calls(torch.amp.GradScaler, name, "scaler")


def _watch_autocast(torch: Any) -> None:
    """One that the script turned off would turn off a patch's around it."""
    made, entered = torch.autocast.__init__, torch.autocast.__enter__
    enabled_at = list(inspect.signature(made).parameters).index("enabled") - 1

    def init(region: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        given = args[enabled_at] if len(args) > enabled_at else kwargs.get("enabled", True)
        region.__dict__["_vramfit_off"] = not given
        yield

    def enter(region: Any) -> Iterator[Any]:
        if region.__dict__.get("_vramfit_off"):
            places.add("autocast_off", here(sys._getframe(1)))
        yield

    torch.autocast.__init__ = around("patch.autocast", made, init)
    torch.autocast.__enter__ = around("patch.autocast", entered, enter)


# -- what is made once


def _on_optimizer(optimizer: Any) -> None:
    place = here(sys._getframe(1))
    if place is None:
        return
    known = places.optimizers.get(place.key())
    if known is not None:
        known.times += 1
        return
    parameters = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    places.optimizers[place.key()] = OptimizerPlace(place, _models_around(parameters))


def _models_around(parameters: set[int]) -> list[tuple[str, int, frozenset[str]]]:
    """Names that hold a model of these parameters, in the frames around, the nearest first, with its modules' names."""
    found = []
    frame = _script_frame()
    depth = 0
    while frame is not None:
        if frames.is_script(frame.f_code):
            scope = scope_of(frame)
            for name, held in scope.items():
                inner = attributes_of(held).items()
                for spelled, value in [(name, held), *((f"{name}.{own}", value) for own, value in inner)]:
                    if _is_model_of(value, parameters):
                        found.append((spelled, depth, frozenset(dict(value.named_modules()))))
            scope.clear()
            depth += 1
        frame = frame.f_back
    return found


def _is_model_of(value: Any, parameters: set[int]) -> bool:
    if not isinstance(value, sys.modules["torch"].nn.Module):
        return False
    return any(id(parameter) in parameters for parameter in value.parameters())


def _on_gathered(found: gathering.Gathered) -> None:
    if found.lists[0]:
        places.gathered = (found.name, found.line, hasattr(found.lists[0][0], "dim"))


def install(torch: Any) -> None:
    _state.numbers = ObjectCounters(torch, lambda text: None)
    events.optimizer_made.listen(_state.numbers.learn_optimizer)
    _watch_construction(torch)
    loaders.before_pass.append(_before_pass)
    events.batch.listen(_on_batch)
    loaders.after_pass.append(_after_pass)
    events.root_enter.listen(_on_root)
    events.root_exit.listen(_on_root_exit)
    events.backward_begin.listen(_on_backward)
    events.step_begin.listen(_on_step)
    events.optimizer_made.listen(_on_optimizer)
    _watch_training_calls(torch)
    _watch_losses(torch)
    _watch_autocast(torch)
    events.gathered.listen(_on_gathered)
    events.weighed_otherwise.listen(_on_weight)
