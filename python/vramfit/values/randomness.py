"""Random numbers for operators re-run on the CPU.

The CPU generator cannot follow the card's Philox sequence, so each random operator draws from the CPU generator seeded
by the card generator's (seed, offset) just before it. The same seed and offset give the same numbers: recomputing a
checkpointed block after its RNG state was restored repeats its dropout exactly, and the user's own CPU sequence (which
shuffles their data) is left as it was. At offset 0 the seed itself is used, so the first draw after `manual_seed`
equals a CPU run's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 / golden ratio: spreads consecutive offsets (Knuth, TAOCP 6.4)


def is_random(operator: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(operator, "tags", ())


def drawn_seed(generator: torch.Generator) -> int:
    """The seed for the CPU generator, from a card generator's state now."""
    offset = generator.get_offset()
    return (generator.initial_seed() + offset * _GOLDEN) % 2**63


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """The default CPU generator at `seed` inside, as it was before outside."""
    generator = torch.default_generator
    state = generator.get_state()
    generator.manual_seed(seed)
    try:
        yield
    finally:
        generator.set_state(state)
