"""What the planner needs to know of the job: loaders, models and their blocks, optimizers, precision, steps."""

from __future__ import annotations

import functools
import importlib.util
import sys
from dataclasses import dataclass
from typing import Any

from vramfit.base import events, frames, notes, process, recorder
from vramfit.base.recorder import FORWARD, TEST, TRAIN, VALIDATE
from vramfit.contract import notes as said
from vramfit.contract.fields import PhaseName
from vramfit.observe import batch_norms, loaders, own_weights, owners, phases, quiet_forwards, scopes
from vramfit.observe.loaders import Pass
from vramfit.observe.phases import position

_MAX_TENSORS = 16  # of a batch
_MAX_DEPTH = 4  # of module names whose activations are measured
_MEASURED_FORWARDS = 2  # the first also allocates workspaces; the later note counts


class _State:
    def __init__(self) -> None:
        self.said: set[tuple[str, int]] = set()
        self.steps: dict[int, int] = {}
        self.facts: dict[str, Any] = {}
        self.loaders: dict[int, list[list[int]]] = {}  # shapes of a loader's first batch, by its ordinal
        self.first_optimizer: int | None = None  # id of the one that stepped first
        self.first_parameter = 0  # id of the first that it works on
        self.successor: int | None = None  # of the same parameters, and stepped last
        self.optimizers_at_step = 0  # how many had been made when one of its parameters stepped last
        self.counted: tuple[int, int, int, int] | None = None  # the batch of an evaluation that was counted last
        self.meter: _Meter | None = None
        self.measured: dict[int, int] = {}  # id of a root -> training forwards measured


_state = process.own(_State)


def _once(kind: str, key: int) -> bool:
    if (kind, key) in _state.said:
        return False
    _state.said.add((kind, key))
    return True


# -- loaders


def _shapes(batch: Any) -> list[list[int]]:
    return [list(tensor.shape) for _, tensor in owners.tensors_in(batch)[:_MAX_TENSORS]]


def _on_batch(this_pass: Pass, batch: Any) -> None:
    if _once("loader", this_pass.ordinal):
        _state.loaders[this_pass.ordinal] = _shapes(batch)
        _note_loader(this_pass, recorder.PHASE_NAMES[position.phase])


def _on_backward(tensors: Any) -> None:
    """A training loader is known at its first backward pass: a trainer may leave its last pass before the end."""
    this_pass = loaders.innermost()
    if this_pass is not None and this_pass.ordinal in _state.loaders and _once("loader_trains", this_pass.ordinal):
        _note_loader(this_pass, recorder.PHASE_NAMES[recorder.TRAIN])


def _after_pass(this_pass: Pass) -> None:
    """The phase a loader serves is known once its pass is over: the later note counts."""
    if this_pass.delivered and _once("loader_phase", this_pass.ordinal):
        _note_loader(this_pass, recorder.PHASE_NAMES[recorder.TRAIN if this_pass.trained else position.phase])


def _note_loader(this_pass: Pass, phase: PhaseName) -> None:
    loader = this_pass.loader
    notes.note(
        said.Loader(
            ordinal=this_pass.ordinal,
            batch_size=_batch_size(loader),
            batches=loaders.length_of(loader),
            samples=loaders.length_of(getattr(loader, "dataset", None)),
            phase=phase,
            shapes=_state.loaders.get(this_pass.ordinal, []),
        )
    )


def _batch_size(loader: Any) -> int | None:
    own = getattr(loader, "batch_size", None)
    return own if own is not None else getattr(getattr(loader, "batch_sampler", None), "batch_size", None)


# -- models


def _on_root_enter(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    root = scopes.root_of(module)
    if root is None or not root.parameters:
        return
    inner = scopes.unwrap(module)
    _note_root(root, inner)
    if position.phase in (VALIDATE, TEST):
        _note_evaluation(inner, args, kwargs)
    _note_precision(module is not inner and "Optimized" in type(module).__name__)
    # One without a graph, within training too, leaves nothing for a backward.
    training = position.phase == TRAIN and sys.modules["torch"].is_grad_enabled()
    if training and _state.meter is None and _state.measured.get(id(inner), 0) < _MEASURED_FORWARDS:
        _state.measured[id(inner)] = _state.measured.get(id(inner), 0) + 1
        _state.meter = _Meter(root.prefix)
        phases.watchers.append(_state.meter)


def _note_root(root: scopes.Root, module: Any) -> None:
    """An evaluation may come first, in which batch norms stand still that train later."""
    is_new = _once("root_module", id(module))
    begins_training = module.training and _once("root_in_training", id(module))
    has_batch_norm = (is_new or begins_training) and batch_norms.train_in(module)
    if is_new or has_batch_norm:
        notes.note(
            said.RootModule(
                class_name=root.class_name,
                parameters=root.parameters,
                parameter_bytes=root.parameter_bytes,
                at_once_bytes=own_weights.at_once(module),
                has_batch_norm=has_batch_norm,
            )
        )


def _note_evaluation(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Whether an evaluation's forwards run with gradients on, so that each keeps its activations, and over how many
    samples at once."""
    if not _once("evaluation", position.phase):
        return
    torch = sys.modules["torch"]
    gradients = torch.is_grad_enabled() and any(p.requires_grad for p in module.parameters())
    given = (each for each in (*args, *kwargs.values()) if isinstance(each, torch.Tensor) and each.dim())
    samples = next((int(each.shape[0]) for each in given), 0)
    quiet_forwards.when_settled(lambda: notes.note(said.Evaluation(gradients=gradients, samples=samples)))


def _on_root_exit(module: Any, result: Any) -> None:
    meter, _state.meter = _state.meter, None
    if meter is not None:
        if meter in phases.watchers:
            phases.watchers.remove(meter)
        meter.write()
    if position.phase != TRAIN and position.stage == FORWARD and _is_model(module) and _is_next_batch():
        _step(-position.phase)


def _is_model(module: Any) -> bool:
    """Whether it is no loss or transform of the input: those are modules too, but have no parameters."""
    root = scopes.root_of(module)
    return root.parameters > 0 if root is not None else next(module.parameters(), None) is not None


def _is_next_batch() -> bool:
    """False for a second model that is called on the batch of a loader that was counted already."""
    this_pass = loaders.innermost()
    if this_pass is None:
        return True
    batch = (position.phase, this_pass.ordinal, this_pass.number, this_pass.delivered)
    if _state.counted == batch:
        return False
    _state.counted = batch
    return True


@dataclass
class _Reading:
    class_name: str
    saved_bytes: int = 0
    output_bytes: int = 0  # of the saved, what it handed on: all that is left of it under checkpointing
    calls: int = 0


class _Meter:
    """What each module's forward leaves allocated, over one forward pass of a root in training."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._open: list[tuple[str, int]] = []
        self._readings: dict[str, _Reading] = {}
        self._device = _current_device()
        self._autocast: str | None = None

    def enter(self, module: Any, args: Any) -> None:
        name = scopes.name_of(module)
        self._open.append((name, recorder.memory(self._device, recorder.ALLOCATED)))
        if self._autocast is None:
            self._autocast = autocast_dtype()
        self._readings.setdefault(name, _Reading(type(module).__name__))

    def leave(self, module: Any, result: Any) -> None:
        if not self._open:
            return
        name, before = self._open.pop()
        reading = self._readings[name]
        reading.saved_bytes += recorder.memory(self._device, recorder.ALLOCATED) - before
        reading.output_bytes += sum(t.numel() * t.element_size() for _, t in owners.tensors_in(result) if t.is_cuda)
        reading.calls += 1

    def write(self) -> None:
        if self._autocast is not None:
            _precision(autocast=self._autocast)
        for name, reading in self._readings.items():
            if name and name.removeprefix(self._prefix).count(".") < _MAX_DEPTH and reading.saved_bytes > 0:
                notes.note(
                    said.ModuleMemory(
                        name=name,
                        class_name=reading.class_name,
                        saved_bytes=reading.saved_bytes,
                        output_bytes=reading.output_bytes,
                        calls=reading.calls,
                    )
                )


def _current_device() -> int:
    torch = sys.modules["torch"]
    return torch.cuda.current_device() if torch.cuda.is_initialized() else 0


# -- precision


def autocast_dtype() -> str | None:
    """The type autocast uses on the device right now; None when it is off, or casts to float32, which it is anyway."""
    torch = sys.modules["torch"]
    try:
        if not torch.is_autocast_enabled("cuda"):
            return None
        dtype = torch.get_autocast_dtype("cuda")
    except TypeError:  # before 2.4
        if not torch.is_autocast_enabled():
            return None
        dtype = torch.get_autocast_gpu_dtype()
    return None if dtype == torch.float32 else str(dtype).replace("torch.", "")


def _precision(**changed: Any) -> None:
    """Notes the precision again whenever something about it is learnt."""
    before = dict(_state.facts)
    _state.facts.update(changed)
    if _state.facts != before:
        known = _state.facts.get
        notes.note(
            said.Precision(
                autocast=known("autocast"),
                scaler=known("scaler", False),
                checkpointing=known("checkpointing", False),
                compiled=known("compiled", False),
                tf32=known("tf32", False),
            )
        )


def _note_precision(compiled: bool) -> None:
    torch = sys.modules["torch"]
    fixed = {
        "autocast": _state.facts.get("autocast") or autocast_dtype(),
        "scaler": _state.facts.get("scaler", False),
        "checkpointing": position.recomputes,
        "compiled": _state.facts.get("compiled", False) or compiled,
        "tf32": torch.get_float32_matmul_precision() != "highest",
    }
    _precision(**fixed)


def _watch_scaler(torch: Any) -> None:
    from torch.amp import grad_scaler

    original = grad_scaler.GradScaler.scale

    def scale(self: Any, outputs: Any) -> Any:
        if self.is_enabled():
            _precision(scaler=True)
        return original(self, outputs)

    grad_scaler.GradScaler.scale = scale


# -- optimizers and steps


def _step(key: int) -> None:
    _state.steps[key] = _state.steps.get(key, 0) + 1
    number = _state.steps[key]
    recorder.step(number)
    events.step_counted(number)


def count_training_step() -> None:
    _step(TRAIN)


def _on_training_step(optimizer: Any) -> None:
    if _first_optimizer(optimizer):
        count_training_step()


def _on_step_end(optimizer: Any) -> None:
    if not _once("optimizer", id(optimizer)):
        return
    options: dict[str, Any] = {  # tuples too (betas), which no reader asks for
        key: value
        for key, value in optimizer.param_groups[0].items()
        if key != "params" and isinstance(value, (int, float, bool, str, tuple, type(None)))
    }
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    notes.note(
        said.Optimizer(
            class_name=type(getattr(optimizer, "optimizer", optimizer)).__name__,
            options=options,
            largest_bytes=max((p.numel() * p.element_size() for p in parameters), default=0),
            state_bytes=owners.tag_state(optimizer),
            moved_bytes=owners.find_moved_bytes(optimizer),
            factored_bytes=sum(map(_factored_bytes, parameters)),
            bitsandbytes=importlib.util.find_spec("bitsandbytes") is not None,
        )
    )


def _factored_bytes(parameter: Any) -> int:
    """Adafactor's: a row and a column of each matrix, of which a convolution's kernel has many; all of a vector."""
    shape = tuple(parameter.shape)
    numbers = parameter.numel()
    if len(shape) > 1 and numbers:
        numbers = numbers // shape[-1] + numbers // shape[-2]
    return int(numbers * parameter.element_size())


def _first_optimizer(optimizer: Any) -> bool:
    """A job with several optimizers is counted by the first, and by one that was made anew for its parameters."""
    if _state.first_optimizer is None:
        _state.first_optimizer, _state.first_parameter = id(optimizer), _parameter_of(optimizer)
    if _state.first_optimizer == id(optimizer):
        _state.successor, _state.optimizers_at_step = None, position.optimizers
    elif _parameter_of(optimizer) == _state.first_parameter:
        # Two that step in turns are one job's. One that was made since the last step, or steps twice in a row, has
        # taken over.
        is_made_anew = position.optimizers > _state.optimizers_at_step
        _state.optimizers_at_step = position.optimizers
        if is_made_anew or _state.successor == id(optimizer):
            _state.first_optimizer, _state.successor = id(optimizer), None
        else:
            _state.successor = id(optimizer)
    return _state.first_optimizer == id(optimizer)


def _parameter_of(optimizer: Any) -> int:
    return next((id(parameter) for group in optimizer.param_groups for parameter in group["params"]), 0)


def _count_optimizers(torch: Any) -> None:
    original = torch.optim.Optimizer.__init__

    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        position.optimizers += 1
        original(self, *args, **kwargs)
        events.optimizer_made(self)

    torch.optim.Optimizer.__init__ = init


# -- gradients


def _watch_zeroing(torch: Any, owner: Any) -> None:
    """Looks where a script zeroes gradients that could be given back. Once: a loop does it in one place."""
    original, is_compiling = owner.zero_grad, torch.compiler.is_compiling

    @functools.wraps(original)
    def zero_grad(self: Any, set_to_none: bool = True) -> Any:
        if not set_to_none and _once("gradients_kept", 0):
            after_forward = position.phase == TRAIN and position.stage == FORWARD  # until its backward pass begins
            notes.note(said.GradientsKept(line=frames.script_line(sys._getframe(1)), after_forward=after_forward))
        if not is_compiling():
            events.gradients_zeroed(self, set_to_none)
        return original(self, set_to_none)

    owner.zero_grad = zero_grad


def install(torch: Any) -> None:
    events.batch.listen(_on_batch)
    loaders.after_pass.append(_after_pass)
    events.backward_begin.listen(_on_backward)
    events.root_enter.listen(_on_root_enter)
    events.root_exit.listen(_on_root_exit)
    events.training_step.listen(_on_training_step)
    events.step_end.listen(_on_step_end)
    _count_optimizers(torch)
    _watch_scaler(torch)
    _watch_zeroing(torch, torch.optim.Optimizer)
    _watch_zeroing(torch, torch.nn.Module)
