"""How far a layer reaches along a side of an image, and which rows of its input a tile of its output needs.

A layer's reach is found by running a copy of it on the CPU, on small images of which some rows are not a number: what
depends on them is not a number either, whatever the weights are. A layer that mixes everything with everything (global
pooling, squeeze and excitation, attention, batch or group statistics) has none, nor has one whose tiles, put together,
are not what it makes of the whole.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

_SIDES = (32, 96)  # of the images; the larger one for layers that reach further
_WEIGHTS = 0.02  # their spread: activations that neither vanish nor overflow
_SAME = 1e-4  # of the largest number: another order of sums


@dataclass(frozen=True)
class Reach:
    """Along one side. `down` rows of the input make one row of the output, or one makes `up` rows."""

    down: int
    up: int
    before: int  # rows of the output before its own that a row (or `down` rows) of the input touches
    after: int

    def needed(self, first: int, end: int, length: int) -> tuple[int, int]:
        """The rows of an input of `length` that rows `first` to `end` of the output are made of."""
        if self.up > 1:
            low, high = (first - self.after) // self.up, (end - 1 + self.before) // self.up + 1
        else:
            low, high = (first - self.after) * self.down, (end + self.before) * self.down
        return max(0, low), min(length, high)

    def fits(self, length: int, output: int) -> bool:
        """Whether it makes so many rows of so many: an adaptive pooling does for one size only."""
        if self.up > 1:
            return output == length * self.up
        return output in (length // self.down, -(-length // self.down))


@dataclass(frozen=True)
class Layer:
    """A module of a chain, with its reach along both sides."""

    module: Any
    rows: Reach
    columns: Reach


@dataclass(frozen=True)
class Cut:
    """One tile along one side: what is read, and where in what comes out of that the tile lies."""

    read: tuple[int, int]
    made: tuple[int, int]  # of the whole output
    skip: int  # rows of what comes out that other tiles have


def cut(reaches: list[Reach], lengths: list[int], parts: int) -> list[Cut]:
    """Tiles along one side of a run of layers. `lengths`: of the first layer's input, and of each output."""
    step = 1
    for reach in reaches:
        step *= reach.down
    output, cuts = lengths[-1], []
    for part in range(parts):
        made = output * part // parts, output * (part + 1) // parts
        if made[0] == made[1]:
            continue
        low, high = made
        for reach, length in zip(reversed(reaches), reversed(lengths[:-1])):
            low, high = reach.needed(low, high, length)
        low = start = low // step * step
        for reach in reaches:
            start = start // reach.down * reach.up
        cuts.append(Cut((low, high), made, made[0] - start))
    return cuts


def run_tiles(layers: list[Layer], image: Any, rows: list[Cut], columns: list[Cut], side: tuple[int, int]) -> Any:
    """What the layers make of the image, tile by tile; `side` is the height and width of that."""
    whole = None
    for row in rows:
        for column in columns:
            # A copy: layers that work in place would change what the next tile reads.
            tile = image[..., row.read[0] : row.read[1], column.read[0] : column.read[1]].clone()
            for layer in layers:
                tile = layer.module(tile)
            height, width = row.made[1] - row.made[0], column.made[1] - column.made[0]
            tile = tile[..., row.skip : row.skip + height, column.skip : column.skip + width]
            if whole is None:
                whole = tile.new_empty((*tile.shape[:-2], *side))
            whole[..., row.made[0] : row.made[1], column.made[0] : column.made[1]] = tile
    return whole


def find_reach(torch: Any, module: Any, channels: int) -> tuple[Reach, Reach] | None:
    """The reach of a layer, along rows and columns; None where it has none."""
    generator = torch.Generator().manual_seed(0)
    try:
        layer = _copy_on_cpu(torch, module, generator)
        for side in _SIDES:
            image = torch.rand((1, channels, side, side), generator=generator, device="cpu")
            reach = _probe(torch, layer, image)
            if reach is not None:
                return reach if _is_same_in_tiles(layer, reach, image) else None
    except Exception:  # it takes no such image: not a layer for tiles
        return None
    return None


def _copy_on_cpu(torch: Any, module: Any, generator: Any) -> Any:
    """A copy with weights of its own: those on the card are not read."""
    known: dict[int, Any] = {}
    for tensor in (*module.parameters(), *module.buffers()):
        if not tensor.is_floating_point():
            known[id(tensor)] = tensor.detach().cpu()
        elif isinstance(tensor, torch.nn.Parameter):
            values = torch.randn(tensor.shape, generator=generator, device="cpu") * _WEIGHTS
            known[id(tensor)] = torch.nn.Parameter(values, requires_grad=False)
        else:
            known[id(tensor)] = torch.ones(tensor.shape, device="cpu")
    return copy.deepcopy(module, known)


def _probe(torch: Any, layer: Any, image: Any) -> tuple[Reach, Reach] | None:
    clean = layer(image.clone())
    if clean.dim() != 4 or not bool(clean.isfinite().all()):
        return None
    size, made = image.shape[-1], clean.shape[-1]
    if clean.shape[-2] != made or (size % made and made % size):
        return None
    down, up = max(1, size // made), max(1, made // size)
    # In one batch: so many rows at the middle, at the first and the last place, the same of columns, and none.
    places = [size // 2 // down * down, 0, size - down]
    batch = image.repeat(2 * len(places) + 1, 1, 1, 1)
    for number, place in enumerate(places):
        batch[number, :, place : place + down, :] = float("nan")
        batch[len(places) + number, :, :, place : place + down] = float("nan")
    touched = layer(batch).isnan()
    if bool(touched[-1].any()):
        return None  # it mixes the samples of a batch
    rows = [_span(touched[number].any(0).any(1)) for number in range(len(places))]
    columns = [_span(touched[len(places) + number].any(0).any(0)) for number in range(len(places))]
    found = [_reach_of(spans, places, down, up, made) for spans in (rows, columns)]
    return (found[0], found[1]) if found[0] is not None and found[1] is not None else None


def _span(touched: Any) -> tuple[int, int]:
    indices = touched.nonzero().flatten().tolist()
    return (indices[0], indices[-1]) if indices else (-1, -1)


def _reach_of(spans: list[tuple[int, int]], places: list[int], down: int, up: int, made: int) -> Reach | None:
    own = [(place // down * up, place // down * up + up - 1) for place in places]
    before, after = own[0][0] - spans[0][0], spans[0][1] - own[0][1]
    if spans[0][0] <= 0 or spans[0][1] >= made - 1 or before < 0 or after < 0:
        return None  # all the way to a border, or not where it should be
    # A layer must not reach further at the borders than in the middle: circular padding reads the far end.
    near = spans[1][1] <= own[1][1] + after and spans[2][0] >= own[2][0] - before
    return Reach(down, up, before, after) if near else None


def _is_same_in_tiles(module: Any, reach: tuple[Reach, Reach], image: Any) -> bool:
    whole = module(image.clone())
    layer = Layer(module, *reach)
    cuts = [cut([one], [size, made], 2) for one, size, made in zip(reach, image.shape[-2:], whole.shape[-2:])]
    tiled = run_tiles([layer], image, cuts[0], cuts[1], tuple(whole.shape[-2:]))
    return bool((whole - tiled).abs().max() <= _SAME * whole.abs().max())
