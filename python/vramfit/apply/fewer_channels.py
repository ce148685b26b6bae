"""Channels of a network taken out by Torch-Pruning: what a plan does (prune.py), and what `vramfit patch` writes.

The text of this module's functions goes into the user's file as it stands, so it needs nothing of vramfit
but what goes with it (patch/helpers.py).
"""

from __future__ import annotations

from typing import Any

from vramfit.private.torch_pruning import layers_to_leave


def take_channels_out(model: Any, share: float, shape: Any, rank: Any = None) -> None:
    """Takes this share of each layer's channels out of `model`, those of the smallest weights first.

    `shape` is that of one sample without the batch; `rank` gives the worth of the channels of a group of layers that
    share theirs. Parameters stay the objects that they were. Layers of fewer than 32 channels, and those that put out
    the results, stay whole; counts are multiples of 8. Raises ValueError where the network can't be followed.
    """
    import gc

    import torch
    import torch_pruning

    old = dict(model.named_parameters())
    in_training = [(module, module.training) for module in model.modules()]
    sample = next(iter(old.values())).new_zeros((1, *shape))
    grouped = any(getattr(module, "groups", getattr(module, "num_groups", 1)) > 1 for module in model.modules())
    devices = [sample.device] if sample.is_cuda else []
    try:
        with torch.random.fork_rng(devices=devices), torch.enable_grad():
            before = shapes_put_out(model, sample)
            pruner = torch_pruning.pruner.BasePruner(
                model,
                sample,
                rank or torch_pruning.importance.GroupMagnitudeImportance(p=2),
                pruning_ratio=share,
                round_to=None if grouped else 8,
                forward_fn=call_as_in_training,
                in_channel_groups={},
                out_channel_groups={},
                num_heads={},
            )
            pruner.ignored_layers.extend(layers_to_leave(pruner))
            pruner.step()
            after = shapes_put_out(model, sample)
    except Exception as error:
        raise ValueError(f"Torch-Pruning can't follow {type(model).__name__}: {error}") from error
    finally:
        for module, mode in in_training:
            module.training = mode
    if before != after:
        raise ValueError(f"{type(model).__name__} would put out {after} instead of {before}")
    pruner = None
    gc.collect()  # graphs of its calls, which know the parameters by their old shapes
    for name, parameter in list(model.named_parameters()):
        owner, _, last = name.rpartition(".")
        old[name].data, old[name].grad = parameter.data, None
        setattr(model.get_submodule(owner), last, old[name])


def call_as_in_training(model: Any, sample: Any) -> Any:
    """Branches of the training alone are called too; norms and dropout are left as in an evaluation."""
    for module in model.modules():
        module.training = next(module.children(), None) is not None
    return model(sample)


def shapes_put_out(model: Any, sample: Any) -> list[Any]:
    return shapes_of(call_as_in_training(model, sample))


def shapes_of(value: Any) -> list[Any]:
    if isinstance(value, (dict, list, tuple)):
        parts = value.values() if isinstance(value, dict) else value
        return [shape for part in parts for shape in shapes_of(part)]
    return [list(getattr(value, "shape", ()))]
