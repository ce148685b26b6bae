"""The leaves of an autograd graph: every tensor that a backward pass through it adds gradients to."""

from __future__ import annotations

from typing import Any

from vramfit.private import torch as of_torch


def leaves_of(roots: list[Any]) -> list[Any]:
    """The tensors at whose AccumulateGrad nodes the graph of `roots` (tensors) ends; each once, or None where PyTorch
    does not tell them. A node in Python costs about 1 us. What a custom function's backward differentiates by itself
    (reentrant checkpointing) is not in it."""
    waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
    found = [root for root in roots if root.grad_fn is None and root.requires_grad]
    seen = set(waiting)
    while waiting:
        for node, _ in waiting.pop().next_functions:
            if node is None or node in seen:
                continue
            seen.add(node)
            if type(node).__name__ == "AccumulateGrad":
                found.append(of_torch.leaf.of(node))
            else:
                waiting.append(node)
    return found
