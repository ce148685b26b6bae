"""Adapters of low rank in the linear layers of a network that an optimizer is made for (adapters.py).

When the script makes its optimizer, networks of its parameters get their adapters, and the optimizer's groups are made
anew of these: each adapter is in the group of the weight beside which it stands, with that group's options. A group of
which nothing is left stays, empty, so that schedules and scripts that count groups find them. What is trained, and what
is not, observe/linear_layers.py decides.
"""

from __future__ import annotations

from typing import Any

from vramfit import apply
from vramfit.apply import adapters
from vramfit.apply import optimizer_making as making
from vramfit.base import events, notes, process
from vramfit.contract import notes as said
from vramfit.contract import plans
from vramfit.observe import linear_layers, scopes

ID = "lora"
_INT4 = "int4"  # of layers with adapters; what else stands still is held in half the bytes


class Lora:
    KEEPS = process.ALL

    def __init__(self, torch: Any, options: plans.Lora) -> None:
        self._torch = torch
        self._rank = options.rank
        self._scale = (self._rank if options.alpha is None else options.alpha) / self._rank
        self._weights = options.weights or ""  # what those that stand still are held in; empty: as they are
        self._adapters: dict[int, tuple[Any, Any]] = {}  # by id of the weight beside which they stand
        self._frozen: dict[int, Any] = {}  # by id: parameters that an optimizer was to have
        self._seen: set[int] = set()  # ids of parameters whose networks were looked at
        self._trained = 0  # numbers in adapters

    # -- an optimizer is made

    def before_optimizer(self, parameters: list[Any]) -> None:
        new = {id(p) for p in parameters if p.requires_grad and id(p) not in self._seen}
        if not new:
            return
        self._seen.update(new)
        models = self._models_of(new)
        for model in models:
            self._adapt(model, new)
        if models and not self._adapters:
            apply.refused(ID, "no linear layer is trained that is larger than its adapters would be")

    def _models_of(self, wanted: set[int]) -> list[Any]:
        models, others = making.models_of(self._torch, wanted)
        if sharing := making.sharing_in(models):
            apply.refused(ID, f"the model is within a {sharing} before its optimizer is made: it knows all weights")
        trained = [making.shapes(model) for model in models]
        twin = next((one for one in others if len(shape := making.shapes(one)) > 1 and shape in trained), None)
        if twin is not None:
            text = f"a second {type(twin).__name__} is there, an average or a teacher"
            apply.refused(ID, f"{text}: its weights would have no partner any more")
        return models

    def _adapt(self, model: Any, trained: set[int]) -> None:
        choice = linear_layers.choose(self._torch, model, trained, self._rank)
        if not choice.adapted:
            return
        total = sum(p.numel() for p in filter(scopes.is_there, model.parameters()))
        if choice.frozen * 2 > total:
            apply.refused(ID, f"the script trains {100 * (1 - choice.frozen / total):.1f} % of the network's weights")
            return
        whole = {id(parameter) for layer in choice.whole for parameter in layer.parameters()}
        halved = linear_layers.kept_in_half(self._torch, model, trained, choice) if self._weights else []
        for parameter in model.parameters():
            if id(parameter) in trained and id(parameter) not in whole:
                parameter.requires_grad_(False)
                self._frozen[id(parameter)] = parameter
        seed = self._torch.initial_seed()
        for number, (_, layer) in enumerate(choice.adapted):
            weight = layer.weight
            made = adapters.adapt(self._torch, layer, self._rank, self._scale, (seed + number) % (1 << 63))
            self._adapters[id(weight)] = made
            self._trained += sum(one.numel() for one in made)
        packed = self._pack(choice)
        half = self._torch.bfloat16 if packed else getattr(self._torch, self._weights, None)
        for layer in halved:
            if id(layer) not in packed:
                adapters.hold(self._torch, layer, half)
        self._tell(choice, sum(p.numel() for p in model.parameters() if id(p) in whole), total)

    def _pack(self, choice: Any) -> set[int]:
        """Ids of the layers whose weights are in 4 bits from now on."""
        if self._weights != _INT4:
            return set()
        packed = {id(layer) for _, layer in choice.adapted if adapters.hold_in_4_bits(self._torch, layer)}
        if not packed:
            apply.refused(ID, "no row of a linear layer's weights can be cut in groups of 8 numbers for 4 bits")
        return packed

    def _tell(self, choice: Any, whole: int, total: int) -> None:
        held = f", frozen weights in {self._weights}" if self._weights else ""
        text = f"adapters of rank {self._rank} in {len(choice.adapted)} linear layers{held}: {self._trained + whole} "
        text += f"numbers are trained instead of {total - choice.frozen}"
        apply.applied(ID, text)
        notes.note(said.PlanEffect(id=ID, text=text))

    # -- its groups

    def chosen_of_group(self, parameters: list[Any]) -> list[Any]:
        """The parameters that take the place of a group's; they may have names beside them. A group may come later."""
        self.before_optimizer(making.tensors_in(parameters))
        found: dict[int, Any] = {}
        for one in parameters:
            name, parameter = one if isinstance(one, tuple) else ("", one)
            made = self._adapters.get(id(parameter))
            if made is not None:
                named = zip((".lora_a", ".lora_b"), made)
                found.update({id(p): (name + part, p) if name else p for part, p in named})
            elif id(parameter) not in self._frozen:
                found[id(parameter)] = one
        return list(found.values())

    def after_optimizer(self, optimizer: Any) -> None:
        if self._adapters and not any(group["params"] for group in optimizer.param_groups):
            name = type(optimizer).__name__
            apply.refused(ID, f"{name} would be left with nothing to train: none of its weights is of a linear layer")

    def at_step(self, _optimizer: Any) -> None:
        if any(parameter.requires_grad for parameter in self._frozen.values()):
            apply.ended(ID, "the script sets requires_grad of weights that are to stand still")


def install(torch: Any, options: plans.Lora) -> None:
    technique = process.own(Lora, torch, options)
    making.before_made(torch, technique.before_optimizer, technique.after_optimizer)
    making.replace_groups(torch, technique.chosen_of_group)
    events.step_begin.listen(technique.at_step)
