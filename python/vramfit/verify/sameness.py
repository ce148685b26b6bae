"""Makes two runs of a job comparable, and small."""

from __future__ import annotations

import functools
import importlib
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

from vramfit.base.split_sizes import sizes_of_parts
from vramfit.observe import loaders
from vramfit.observe.loaders import Pass
from vramfit.private import loaders as of_loaders
from vramfit.verify.shorter_texts import ShorterTexts
from vramfit.verify.smaller_images import SmallerImages

_SEED = 20260101
_DROPOUTS = "dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout"
_FIRST = 2  # batches of a pass, and its last


class FewBatches:
    """A batch sampler's first batches and its last, each of so many samples as its share of a whole one says."""

    def __init__(self, own: Any, samples: int) -> None:
        self._own = own
        self._samples = samples
        self.batch_size = samples  # of a whole one

    def __iter__(self) -> Iterator[list[Any]]:
        batches = [list(batch) for batch in self._own]
        whole = max(map(len, batches), default=1)
        for batch in batches[:_FIRST] + batches[_FIRST:][-1:]:
            # At least two samples are kept where there are two: a batch norm may refuse one alone.
            yield batch[: max(2, len(batch) * self._samples // whole)]

    def __len__(self) -> int:
        return min(len(self._own), _FIRST + 1)

    def __getattr__(self, name: str) -> Any:
        if name == "_own":
            raise AttributeError(name)
        return getattr(self._own, name)


def _shrink(samples: int, this_pass: Pass) -> None:
    loader = this_pass.loader
    sampler = getattr(loader, "batch_sampler", None)
    is_stream = of_loaders.is_stream(loader)
    if sampler is None or is_stream or loaders.length_of(sampler) is None or "_vramfit_few" in loader.__dict__:
        return
    loader.__dict__["_vramfit_few"] = FewBatches(sampler, samples)


def _read_here(this_pass: Pass) -> None:
    """Workers take batches in turn, so what they draw at random depends on how many samples a batch has."""
    loader = this_pass.loader
    object.__setattr__(loader, "num_workers", 0)
    for name in ("prefetch_factor", "multiprocessing_context"):
        loader.__dict__[name] = None
    object.__setattr__(loader, "persistent_workers", False)
    object.__setattr__(loader, "timeout", 0)


def _switch_dropout_off(torch: Any) -> None:
    functional = torch.nn.functional
    for name in _DROPOUTS.split():

        def unchanged(input: Any, *args: Any, **kwargs: Any) -> Any:
            return input

        setattr(functional, name, functools.wraps(getattr(functional, name))(unchanged))
    attention = functional.scaled_dot_product_attention

    @functools.wraps(attention)
    def attend(
        query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, *args: Any, **kwargs: Any
    ) -> Any:
        return attention(query, key, value, attn_mask, 0.0, *args, **kwargs)

    functional.scaled_dot_product_attention = attend


def _normalise_in_groups(torch: Any, sizes_of: Callable[[int], list[int]]) -> None:
    """Makes a batch norm treat so many samples at once, where a plan has batches of so many: what else differs between
    the runs with it and without is then told apart from batch statistics. `sizes_of` takes how many there are."""
    functional = torch.nn.functional
    original = functional.batch_norm

    @functools.wraps(original)
    def batch_norm(input: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
                   training: bool = False, *args: Any, **kwargs: Any) -> Any:  # fmt: skip
        def one(part: Any) -> Any:
            return original(part, running_mean, running_var, weight, bias, training, *args, **kwargs)

        sizes = sizes_of(input.shape[0]) if training else []
        return torch.cat([one(part) for part in input.split(sizes)]) if len(sizes) > 1 else one(input)

    functional.batch_norm = batch_norm


def _seed(torch: Any) -> None:
    random.seed(_SEED)
    torch.manual_seed(_SEED)
    if "numpy" in sys.modules:
        importlib.import_module("numpy").random.seed(_SEED % (1 << 32))


def _of_so_many(group: int, samples: int) -> list[int]:
    return [min(group, samples - start) for start in range(0, samples, group)]


def install(torch: Any, samples: int, group: int, parts: int, tokens: int, side: int) -> None:
    _seed(torch)
    _switch_dropout_off(torch)
    if group > 0:
        _normalise_in_groups(torch, functools.partial(_of_so_many, group))
    if parts > 1:
        _normalise_in_groups(torch, functools.partial(sizes_of_parts, parts=parts))
    loaders.before_pass.insert(0, _read_here)
    if samples > 0:
        loaders.before_pass.insert(0, functools.partial(_shrink, samples))
    if tokens > 0:
        # Before whatever a plan does to batches: it is to see the same ones.
        loaders.exchanges.insert(0, ShorterTexts(tokens))
    if side > 0:
        loaders.exchanges.insert(0, SmallerImages(side))
