"""The private names of Torch-Pruning, which documents groups of layers, but not how its graph's nodes are linked.

What looks at them is here too, and has the names a second time: its text goes into the user's file as it stands
(apply/fewer_channels.py). https://github.com/VainF/Torch-Pruning/wiki
"""

from __future__ import annotations

from typing import Any

from vramfit.private.names import Attribute

LIBRARY = "torch_pruning"
DEPENDENCY = "torch_pruning.dependency"
READY = (DEPENDENCY,)
_NOTHING_TAKEN = "no channels are taken out under a plan"
graph = Attribute("torch_pruning.pruner:BasePruner.DG", _NOTHING_TAKEN, later=True)
nodes = Attribute(f"{DEPENDENCY}:DependencyGraph.module2node", _NOTHING_TAKEN)
layer = Attribute(f"{DEPENDENCY}:Node.module", _NOTHING_TAKEN)
before = Attribute(f"{DEPENDENCY}:Node.inputs", _NOTHING_TAKEN)
after = Attribute(f"{DEPENDENCY}:Node.outputs", _NOTHING_TAKEN)
channels = Attribute("torch_pruning._helpers:GroupItem.idxs", _NOTHING_TAKEN)


def layers_to_leave(pruner: Any) -> list[Any]:
    """Those with few channels, and the last of each way through the network."""
    nodes = list(pruner.DG.module2node.values())
    left = [node.module for node in nodes if is_layer(node.module) and len(node.module.weight) < 32]
    ways, seen = [node for node in nodes if not node.outputs], set()
    while ways:
        node = ways.pop()
        if is_layer(node.module):
            left.append(node.module)
        elif node not in seen:
            seen.add(node)
            ways.extend(node.inputs)
    return left


def is_layer(module: Any) -> bool:
    """A convolution or a linear layer: its weight has inputs besides outputs."""
    return getattr(getattr(module, "weight", None), "ndim", 0) > 1
