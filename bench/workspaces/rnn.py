#!/usr/bin/env python3
"""What cuDNN's recurrent layers took on a real card, fitted on half of the layers and checked on the others.

    bench/workspaces/rnn.py [FILE.csv]

Work space and reserve are taken for sums of whole multiples of sizes that a layer has: its weights, its input and its
states at all steps, its states at one step, a constant for each layer and direction. Which sizes those are was read off
all layers; how often each is taken is solved for, exactly, from FITTED, all kinds and types at once. The other layers
are then foretold with it, and both counts are printed. virtual_gpu/cudnn/rnn.cc has the same multiples, and its test
asks it for every row of the file.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from elimination import eliminate

HERE = Path(__file__).resolve().parent
RECORDED = HERE.parents[1] / "fixtures" / "real_cards" / "h200_recurrent.csv"
# input, hidden, layers, directions, batch, length. Their parts need no padding to 32 bytes, in any type.
FITTED = (
    (64, 64, 1, 1, 4, 8),
    (64, 64, 1, 1, 4, 16),
    (128, 64, 1, 1, 4, 8),
    (64, 128, 1, 1, 4, 8),
    (1, 32, 1, 1, 128, 1),
    (128, 256, 1, 1, 16, 50),
    (256, 512, 2, 1, 32, 100),
    (200, 200, 2, 1, 20, 35),
    (1024, 1024, 4, 1, 64, 30),
    (64, 64, 1, 2, 4, 8),
    (128, 256, 2, 2, 16, 50),
)
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
Sizes = dict[str, int]


def padded(size: int) -> int:
    """Each part of a space begins at a multiple of 32 bytes."""
    return -(-size // 32) * 32


@dataclass(frozen=True)
class Layer:
    kind: str
    type: str
    algorithm: int
    input: int
    hidden: int
    layers: int
    directions: int
    batch: int
    length: int
    training: int
    inference: int | None
    reserve: int

    @property
    def is_fitted(self) -> bool:
        return (self.input, self.hidden, self.layers, self.directions, self.batch, self.length) in FITTED

    @property
    def way(self) -> str:
        """Multiples that differ by kind and algorithm."""
        return f"{self.kind} {'persistent' if self.algorithm else 'standard'}"

    @property
    def element(self) -> int:
        return 4 if self.type == "float32" else 2

    @property
    def one_state(self) -> int:
        return self.batch * self.hidden * self.element

    @property
    def states(self) -> int:
        return self.one_state * self.length

    @property
    def inputs(self) -> int:
        return self.batch * self.input * self.element * self.length

    def shared(self) -> Sizes:
        """What every workspace has."""
        widths = [self.input, *[self.hidden * self.directions] * (self.layers - 1)]
        weights = sum(GATES[self.kind] * self.hidden * (width + self.hidden) * self.directions for width in widths)
        return {
            "layers and directions": self.layers * self.directions,
            "one": 1,
            "batch": padded(self.batch * 8) // 8,
            "weights": weights * self.element,
        }


def forward(layer: Layer) -> Sizes:
    both = layer.directions > 1
    persistent = layer.algorithm > 0
    gates = padded(GATES[layer.kind] * layer.states * layer.directions)
    return {
        **layer.shared(),
        "inputs": padded(layer.inputs),
        "gates": gates,
        "outputs": padded(layer.states * layer.directions),
        f"one state, {layer.way}": layer.one_state * layer.layers * layer.directions,
        "gates, persistent": persistent * GATES[layer.kind] * layer.states,
        "states, both ways": both * layer.states,
        f"one state, both ways, {'persistent' if persistent else 'standard'}": both * layer.one_state * layer.layers,
    }


def backward(layer: Layer) -> Sizes:
    both = layer.directions > 1
    persistent = layer.algorithm > 0
    deep = layer.layers > 1
    whole = deep and (persistent or both)
    part = deep and not whole
    late = layer.one_state if part and layer.length > 8 + 4 * layer.layers else 0
    return {
        **layer.shared(),
        "inputs": padded(layer.inputs),
        "wider of inputs and states": padded(max(layer.inputs, layer.states)),
        f"one state, {layer.way}": layer.one_state * layer.layers * layer.directions,
        "states": 0 if both else padded(layer.states),
        "states, both ways": both * layer.states,
        f"one state, both ways, {'persistent' if persistent else 'standard'}": both * layer.one_state * layer.layers,
        f"states, {layer.way}": persistent * layer.states,
        "states of a whole layer": whole * layer.states * layer.directions,
        "states not under way": -padded(layer.states) if late else 0,
        "steps under way": late,
        "steps under way, a layer": late * layer.layers,
    }


def reserve(layer: Layer) -> Sizes:
    states = layer.states * layer.directions
    return {
        "one": 1,
        f"states of every layer, {layer.kind}": padded(states * layer.layers),
        "states between layers": padded(states * (layer.layers - 1)),
    }


def solve(rows: list[tuple[Sizes, int]]) -> Sizes:
    """The multiples that give every figure, by elimination. What the rows leave open is 0."""
    names = sorted({name for sizes, _ in rows for name, size in sizes.items() if size})
    table = [[Fraction(sizes.get(name, 0)) for name in names] + [Fraction(figure)] for sizes, figure in rows]
    solved = eliminate(table, len(names))
    for column in sorted({*range(len(names))} - {*solved}):
        print(f"  left open: {names[column]}")
    if any(row[-1] for row in table[len(solved) :]):
        print("  no multiples give all of them")
    return {names[column]: round(table[at][-1]) for at, column in enumerate(solved)}


def total(multiples: Sizes, sizes: Sizes) -> int:
    return sum(multiples.get(name, 0) * size for name, size in sizes.items())


def report(
    what: str, layers: list[Layer], foretold: Callable[[Layer], int], real: Callable[[Layer], int | None]
) -> None:
    for half in ("fitted", "checked"):
        rows = [layer for layer in layers if layer.is_fitted == (half == "fitted") and real(layer) is not None]
        errors = [abs(foretold(layer) - (real(layer) or 0)) for layer in rows]
        print(f"{what:10} {half:8} {errors.count(0):3} of {len(rows):3} exact, largest error {max(errors)} bytes")


def print_multiples(what: str, multiples: Sizes) -> None:
    print(what)
    for name, multiple in multiples.items():
        print(f"  {multiple:8} x {name}")


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RECORDED
    with path.open() as file:
        layers = [
            Layer(row["kind"], row["type"], *(int(row[name]) if row[name] else None for name in list(row)[2:]))  # type: ignore[arg-type]
            for row in csv.DictReader(file)
        ]
    fitted = [layer for layer in layers if layer.is_fitted]
    ahead = solve([(forward(layer), layer.inference) for layer in fitted if layer.inference is not None])
    print_multiples("forward", ahead)
    # Training takes the larger of what the two passes need, so it tells of the backward pass where it takes more.
    back = solve(
        [(backward(layer), layer.training) for layer in fitted if layer.training > total(ahead, forward(layer))]
    )
    print_multiples("backward", back)
    kept = solve([(reserve(layer), layer.reserve) for layer in fitted])
    print_multiples("reserve", kept)
    report("inference", layers, lambda layer: total(ahead, forward(layer)), lambda layer: layer.inference)
    report(
        "training",
        layers,
        lambda layer: max(total(ahead, forward(layer)), total(back, backward(layer))),
        lambda layer: layer.training,
    )
    report("reserve", layers, lambda layer: total(kept, reserve(layer)), lambda layer: layer.reserve)


if __name__ == "__main__":
    main()
