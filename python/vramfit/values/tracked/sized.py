"""Operators whose output is as large as their data say, and places that depend on an order of values."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor

from vramfit.values.tracked import lines
from vramfit.values.tracked.operators import Operator
from vramfit.values.tracked.states import ASSUMED, KNOWN, OPEN, UNKNOWN, host, put, state_of
from vramfit.values.tracked.witness import GOLDEN

_MOST_WRITTEN = 1 << 22  # elements of an output that are written; a larger one has a size only
_WORDS = MappingProxyType({"nonzero": "nonzero", "masked_select": "masked_select", "nms": "non-maximum suppression"})


def is_mask(index: Any) -> bool:
    return isinstance(index, Tensor) and index.dtype in (torch.bool, torch.uint8)


def is_fill(name: str, args: Any) -> bool:
    """`x[mask] = number`: the card runs masked_fill, whose size does not depend on data."""
    if "index_put" not in name or (len(args) > 3 and args[3]):
        return False
    given = [index for index in args[1] if index is not None]
    return len(given) == 1 and is_mask(given[0]) and args[2].numel() == 1


def take_for_full(mask: Tensor) -> bool:
    """An open mask sizes or counts something: from here on it selects everything. False for other masks."""
    if mask.dtype != torch.bool or not mask.is_cuda or state_of(mask) not in (OPEN, UNKNOWN) or not mask.numel():
        return False
    lines.say("a size (a mask, taken for full)")
    if mask.numel() <= _MOST_WRITTEN:
        put(_own(mask), torch.ones((), dtype=torch.bool), ASSUMED)
    return True


def _own(mask: Tensor) -> Tensor:
    for dim, stride in enumerate(mask.stride()):
        if stride == 0 and mask.size(dim) > 1:
            mask = mask.narrow(dim, 0, 1)
    return mask


def positions(mask: Tensor) -> Tensor:
    """What `nonzero` gives: one row for each position that the mask selects."""
    torch.ops.aten.nonzero.default(mask)  # for the memory that it takes on the way
    if mask.dtype != torch.bool and state_of(mask) == UNKNOWN:
        return _rows(mask.numel(), mask)
    is_full = take_for_full(mask)
    state = state_of(mask)
    if state == UNKNOWN:
        return _rows(mask.numel(), mask)
    if state < KNOWN and not is_full:
        lines.say("a size (nonzero or a mask)")
    found = host(mask).nonzero()
    return _with(found, _rows(found.size(0), mask), state)


def _rows(count: int, mask: Tensor) -> Tensor:
    """Rows as the card's `nonzero` lays them out: each column by itself, which `x[mask]` then takes as it is."""
    return torch.empty((mask.dim(), count), dtype=torch.int64, device=mask.device).t()


def on_card(value: Tensor, device: torch.device, state: int) -> Tensor:
    """A host tensor's values in a new tensor of the card."""
    return _with(value, torch.empty(value.shape, dtype=value.dtype, device=device), state)


def _with(value: Tensor, place: Tensor, state: int) -> Tensor:
    """A tensor of the card with a host tensor's values, where these are few enough to be written."""
    if value.numel() and value.numel() <= _MOST_WRITTEN:
        put(place, value, state)
    return place


def as_positions(indices: Any) -> list[Tensor | None]:
    wide: list[Tensor | None] = []
    for index in indices:
        if is_mask(index) and index.is_cuda:
            found = positions(index)
            wide.extend(found.select(1, column) for column in range(index.dim()))
        else:
            wide.append(index)
    return wide


def fit_to_values(target: Tensor, indices: Any, values: Tensor) -> None:
    """`x[mask] = values`: an open mask selects as many positions as there are values for."""
    masks = [index for index in indices if index is not None]
    if len(masks) != 1 or not is_mask(masks[0]) or not masks[0].is_cuda or values.numel() <= 1:
        return
    mask = masks[0]
    inside = target.dim() - mask.dim()  # dimensions of what stands at one position
    if values.dim() <= inside or state_of(mask) != OPEN or mask.numel() > _MOST_WRITTEN:
        return
    count = values.size(0)
    if count < mask.numel():
        lines.say("a size (a mask, with as many positions as there are values for)")
        put(mask, (torch.arange(mask.numel()) < count).view(mask.shape), ASSUMED)


def run(operator: Any, args: Any, kwargs: Any, choose_unknown: Callable[[int], bool]) -> Any:
    """Over values where it has some; the most that can be where it has not."""
    name = operator.name.partition("::")[2]
    if name == "nonzero":
        return positions(args[0])
    if name == "masked_select":
        tensor, mask = torch.broadcast_tensors(args[0], args[1])
        found = positions(mask)
        return tensor[tuple(found.unbind(1))]
    if name == "nms":
        return _suppress(operator, args, kwargs)
    if not choose_unknown(_MOST_WRITTEN):
        return _most(name, operator, args, kwargs)
    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
    state = min((state_of(tensor) for tensor in tensors), default=KNOWN)
    if any(tensor.numel() > _MOST_WRITTEN for tensor in tensors):
        return _most(name, operator, args, kwargs)
    if state < KNOWN:
        lines.say(f"a size ({name.strip('_').rstrip('2')})")
    spent = _spend(operator, args, kwargs)
    values = operator.overload(
        *[host(value) if isinstance(value, Tensor) else value for value in args],
        **{key: host(value) if isinstance(value, Tensor) else value for key, value in kwargs.items()},
    )
    device, known = tensors[0].device, max(state, ASSUMED)
    if isinstance(values, Tensor):
        return _in(spent, values, device, known)
    places = spent if isinstance(spent, tuple) else [None] * len(values)
    return tuple(_in(place, value, device, known) for place, value in zip(places, values))


def _spend(operator: Any, args: Any, kwargs: Any) -> Any:
    """Runs it on the card for its memory: what it makes is too small, and it may check values that are not there."""
    try:
        return operator.overload(*args, **kwargs)
    except torch.OutOfMemoryError:
        raise
    except RuntimeError:
        return None


def _in(place: Any, value: Tensor, device: torch.device, state: int) -> Tensor:
    """A host tensor's values where the card put its own: `unique` makes room for all first, and keeps it."""
    if not isinstance(place, Tensor) or place.dtype != value.dtype:
        return on_card(value, device, state)
    return _with(value, place.resize_(value.shape), state)


def _most(name: str, operator: Any, args: Any, kwargs: Any) -> Any:
    """Too large to be computed: what `unique` finds is all different."""
    lines.say(f"a size ({name.strip('_').rstrip('2')}, taken for the most that it can be)")
    result = operator.overload(*args, **kwargs)
    if "unique" not in name:
        return result
    source = args[0]
    size = list(source.shape) if "dim" in name else [source.numel()]
    return (source.new_empty(size), *(torch.empty_like(part) for part in result[1:]))


def _suppress(operator: Any, args: Any, kwargs: Any) -> Tensor:
    boxes, scores = args[0], args[1]
    if min(state_of(boxes), state_of(scores)) == KNOWN and boxes.size(0) <= 1 << 14:
        kept = operator.overload(host(boxes), host(scores), *args[2:], **kwargs)
        operator.overload(*args, **kwargs)
        return on_card(kept, boxes.device, KNOWN)
    operator.overload(*args, **kwargs)
    if boxes.size(0):
        lines.say("a size (non-maximum suppression, keeping all)")
    has_order = state_of(scores) != UNKNOWN
    order = host(scores).argsort(descending=True) if has_order else torch.arange(boxes.size(0))
    return on_card(order, boxes.device, ASSUMED)


def draw(operator: Operator, args: Any, kwargs: Any, most: int) -> Tensor:
    """`multinomial`: of values that were chosen, the likeliest places, which are all different."""
    from vramfit.values.mode import Twice
    from vramfit.values.tracked import witness

    weights = args[0]
    count = args[1] if len(args) > 1 else kwargs["num_samples"]
    result = operator.overload(*args, **kwargs)
    if weights.numel() > most or torch.cuda.is_current_stream_capturing():
        return choose_places("aten::multinomial", result, weights.size(-1))
    state = state_of(weights)
    if state == UNKNOWN:
        witness.give_values(weights)
    if state == KNOWN:
        twice = Twice(operator, args, kwargs, lambda target, value: put(target, value, KNOWN))
        if (values := twice.try_on_host()) is not None:
            return twice.bring_together(result, values)
        return result
    likeliest = host(weights).float().topk(min(count, weights.size(-1)), -1).indices
    if count > likeliest.size(-1):  # drawn with replacement
        likeliest = likeliest.repeat_interleave(-(-count // likeliest.size(-1)), -1)[..., :count]
    put(result, likeliest, ASSUMED)
    return result


def choose_places(name: str, result: Any, entries: int) -> Any:
    """Places among the `entries` of a tensor too large to be given values: valid ones, and none twice in a row."""
    outputs = (result,) if isinstance(result, Tensor) else tuple(result)
    for output in outputs:
        if output.is_floating_point() or output.numel() == 0 or output.numel() > _MOST_WRITTEN:
            continue
        if name in ("aten::sort", "aten::topk", "aten::multinomial") and output.dim():
            put(output, torch.arange(output.size(-1)) % entries, ASSUMED)
        else:
            put(output, ((torch.arange(output.numel()) + int(GOLDEN * entries)) % entries).view(output.shape), ASSUMED)
    return result
