"""Evaluation of large images in tiles: a network's layers of finite reach, tile by tile and sample by sample.

Not the network as a whole: its early layers hold most of the memory and reach a few pixels, its last ones hold little
and see the whole image. So its chains of layers (tile_chains.py) are cut into runs whose tiles need no more than a
small margin (tile_reach.py). A run reads each tile with that margin, and of what comes out keeps what does not depend
on where the tile ends; only between runs is an image whole. The result is what it was, but for the order of sums.

While a chain is run so, all its modules but the last hand on what they are given, and the last one does the work.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from vramfit import apply
from vramfit.apply import tile_chains, tile_reach
from vramfit.apply.tile_chains import Link
from vramfit.apply.tile_reach import Cut, Layer, Reach
from vramfit.base import events, process
from vramfit.base.recorder import TRAIN
from vramfit.contract import plans
from vramfit.observe import phases, scopes

ID = "tiles"
_MARGIN = 0.3  # of a tile's side, both sides together: how much is computed twice
_MINOR = 0.05  # of the largest image within the network: chains of smaller ones stay as they are


@dataclass(frozen=True)
class Run:
    """Layers that follow each other; without cuts they see the whole image."""

    layers: list[Layer]
    rows: list[Cut]
    columns: list[Cut]
    side: tuple[int, int]  # of what comes out

    def compute(self, image: Any) -> Any:
        if self.rows:
            return tile_reach.run_tiles(self.layers, image, self.rows, self.columns, self.side)
        for layer in self.layers:
            image = layer.module(image)
        return image


@dataclass(frozen=True)
class Chain:
    modules: list[Any]
    runs: list[Run]

    def compute(self, images: Any) -> Any:
        whole = None
        for number in range(len(images)):
            image = images[number : number + 1]
            for run in self.runs:
                image = run.compute(image)
            if len(images) == 1:
                return image
            if whole is None:
                whole = image.new_empty((len(images), *image.shape[1:]))
            whole[number : number + 1] = image
        return whole


class Planner:
    """Chains of one network that is given inputs of one size."""

    def __init__(self, torch: Any, model: Any, per_side: int, known: dict[Any, Any]) -> None:
        self._torch = torch
        self._modules = dict(model.named_modules())
        self._per_side = per_side
        self._known = known  # reaches, by what a layer is
        self.chains: list[Chain] = []
        self.layers = 0  # that run in tiles

    def plan(self, chains: list[list[Link]]) -> None:
        largest = max((_size(link) for chain in chains for link in chain), default=0)
        for chain in chains:
            self._plan_chain(chain, _MINOR * largest)

    def _plan_chain(self, links: list[Link], least: float) -> None:
        run: list[tuple[Link, Layer]] = []
        for link in links:
            layer = self._layer_of(link)
            if layer is not None:
                run.append((link, layer))
                continue
            self._add(run, least)
            run = []
            for inner in link.inner:
                self._plan_chain(inner, least)
        self._add(run, least)

    def _layer_of(self, link: Link) -> Layer | None:
        module = self._modules[link.name]
        what = (_description(module), link.input[1])
        if what not in self._known:
            self._known[what] = tile_reach.find_reach(self._torch, module, link.input[1])
        reach = self._known[what]
        if reach is None or not all(r.fits(i, o) for r, i, o in zip(reach, link.input[-2:], link.output[-2:])):
            return None
        return Layer(module, *reach)

    def _add(self, chain: list[tuple[Link, Layer]], least: float) -> None:
        is_more_than_its_ends = len(chain) > 1 or any(next(layer.module.children(), None) for _, layer in chain)
        if not is_more_than_its_ends or max(_size(link) for link, _ in chain) < least:
            return
        runs = []
        first = 0
        while first < len(chain):
            end = self._end_of_run(chain, first)
            runs.append(self._run_of(chain[first : max(end, first + 1)], end > first))
            first = max(end, first + 1)
        if any(run.rows for run in runs):
            self.layers += sum(len(run.layers) for run in runs if run.rows)
            self.chains.append(Chain([layer.module for _, layer in chain], runs))

    def _end_of_run(self, chain: list[tuple[Link, Layer]], first: int) -> int:
        """The end of the run that hands on least, and is longest, of those within reach of a small margin."""
        best, least = first, 0
        for end in range(first + 1, len(chain) + 1):
            if not self._is_near(chain[first:end]):
                break
            size = _bytes(chain[end - 1][0].output, chain[end - 1][0].element)
            if best == first or size <= least:
                best, least = end, size
        return best

    def _is_near(self, chain: list[tuple[Link, Layer]]) -> bool:
        for axis, reaches in ((-2, [layer.rows for _, layer in chain]), (-1, [layer.columns for _, layer in chain])):
            cuts = self._cut(chain, axis, reaches)
            length = chain[0][0].input[axis]
            widest = max(one.read[1] - one.read[0] for one in cuts)
            if len(cuts) < self._per_side or widest > (1 + _MARGIN) * length / self._per_side + 1:
                return False
        return True

    def _cut(self, chain: list[tuple[Link, Layer]], axis: int, reaches: list[Reach]) -> list[Cut]:
        lengths = [chain[0][0].input[axis], *(link.output[axis] for link, _ in chain)]
        return tile_reach.cut(reaches, lengths, self._per_side)

    def _run_of(self, chain: list[tuple[Link, Layer]], in_tiles: bool) -> Run:
        layers = [layer for _, layer in chain]
        output = chain[-1][0].output
        rows = self._cut(chain, -2, [layer.rows for layer in layers]) if in_tiles else []
        columns = self._cut(chain, -1, [layer.columns for layer in layers]) if in_tiles else []
        return Run(layers, rows, columns, (output[-2], output[-1]))


def _size(link: Link) -> int:
    return _bytes(link.input, link.element) + _bytes(link.output, link.element)


def _bytes(shape: tuple[int, ...], element: int) -> int:
    size = element
    for length in shape:
        size *= length
    return size


def _description(module: Any) -> tuple[Any, ...]:
    """What a layer is, but for its weights: classes, plain settings, sizes."""
    plain = (int, float, str, bool, tuple, type(None))
    parts = []
    for name, part in module.named_modules():
        settings = tuple((key, repr(value)) for key, value in sorted(vars(part).items()) if isinstance(value, plain))
        shapes = tuple((key, tuple(p.shape)) for key, p in part.named_parameters(recurse=False))
        parts.append((name, type(part), settings, shapes))
    return tuple(parts)


class Tiles:
    KEEPS = process.ALL  # but for what in_child() begins anew

    def __init__(self, torch: Any, options: plans.Tiles) -> None:
        self._torch = torch
        self._per_side = options.per_side
        self._known: dict[Any, Any] = {}
        self._plans: dict[Any, list[Chain]] = {}
        self.in_child()

    def in_child(self) -> None:
        self._module: Any = None  # the root whose forward runs
        self._wrapped: list[Any] = []
        self._is_inside = False  # a chain runs

    def enter(self, module: Any, args: Any, kwargs: Any) -> None:
        root = scopes.root_of(module)
        if root is None or not root.parameters or self._module is not None:
            return
        if module.training or phases.position.phase == TRAIN:
            return
        if self._torch.is_grad_enabled():
            apply.refused(ID, "evaluation runs with gradients on, whose graph keeps what tiles would let go of")
            return
        if scopes.unwrap(module) is not module:
            apply.refused(ID, f"the model is wrapped in {type(module).__name__}")
            return
        for chain in self._chains_of(module, args, kwargs):
            self._wrap(chain)
        self._module = module if self._wrapped else None

    def leave(self, module: Any, result: Any) -> None:
        if module is self._module:
            self._module = None
            for wrapped in self._wrapped:
                del wrapped.forward
            self._wrapped = []

    def _chains_of(self, model: Any, args: Any, kwargs: Any) -> list[Chain]:
        key = (id(model), _sizes(args), _sizes(kwargs))
        if key not in self._plans:
            self._plans[key] = self._plan(model, args, kwargs)
        return self._plans[key]

    def _plan(self, model: Any, args: Any, kwargs: Any) -> list[Chain]:
        try:
            links = tile_chains.trace(self._torch, model, args, kwargs)
        except Exception as error:  # of the network's own code
            text = f"the network can't be run on shapes alone: {type(error).__name__}: {error}"
            apply.refused(ID, text.splitlines()[0])
            return []
        planner = Planner(self._torch, model, self._per_side, self._known)
        with self._torch.inference_mode(False), self._torch.no_grad():
            planner.plan(links)
        if planner.chains:
            count = f"{self._per_side} x {self._per_side} tiles"
            apply.applied(ID, f"{planner.layers} layers of {type(model).__name__} run in {count}, sample by sample")
        elif not any(self._plans.values()):
            apply.refused(ID, f"no layers of {type(model).__name__} follow each other that could be run in tiles")
        return planner.chains

    def _wrap(self, chain: Chain) -> None:
        for module in chain.modules:
            last = module is chain.modules[-1]
            module.forward = self._stand_in(module.forward, chain if last else None)
            self._wrapped.append(module)

    def _stand_in(self, original: Any, chain: Chain | None) -> Any:
        @functools.wraps(original)
        def forward(images: Any) -> Any:
            if self._is_inside:
                return original(images)
            if chain is None:
                return images
            self._is_inside = True
            try:
                return chain.compute(images)
            finally:
                self._is_inside = False

        return forward


def _sizes(value: Any) -> Any:
    """What a plan is for: the shapes of tensors, and everything else by what it says of itself."""
    if hasattr(value, "dim"):
        return (tuple(value.shape), str(value.dtype))
    if isinstance(value, dict):
        return tuple((key, _sizes(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(_sizes(item) for item in value)
    return repr(value)


def install(torch: Any, options: plans.Tiles) -> None:
    technique = process.own(Tiles, torch, options)
    events.root_enter.listen(technique.enter)
    events.root_exit.listen(technique.leave)
