"""How many samples each part of a batch has."""

from __future__ import annotations


def sizes_of_parts(batch: int, parts: int) -> list[int]:
    """Splits as evenly as it can: 5 in 2 parts are 3 and 2."""
    whole, more = divmod(batch, parts)
    return [whole + (part < more) for part in range(parts) if whole + (part < more)]
