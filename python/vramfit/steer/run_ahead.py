"""Batches that are on the card before the loop asks for them: all of those that a loader may prepare ahead.

A loader's workers and its pin thread go on while the card works. Where they put batches on the card themselves (a batch
with a pin_memory() of its own that moves it there), prefetch_factor x num_workers of them come to wait there beside the
one in the loop:

    loop        | batch 1 ................ | batch 2 ....
    pin thread  | 2 | 3 | 4 | 5 |          | 6 |

A virtual card works in no time, so there the loop would always be the one that waits, and how many batches lie on the
card would be a matter of chance. So the loop is held, where it calls the model with a batch or asks for the next one,
until the loader is as far ahead as it gets.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from vramfit.base import events, notes
from vramfit.contract import notes as said
from vramfit.observe.loaders import Pass, before_batch, innermost
from vramfit.private import loaders as of_loaders
from vramfit.private.names import nothing

_MAX_NESTING = 3
_POLL_SECONDS = 0.001
_MAX_WAIT_SECONDS = 30.0  # for one batch: a loader this slow is not ahead of any card


def _is_on_card(value: Any, depth: int = 0) -> bool:
    if hasattr(value, "untyped_storage"):
        return bool(value.is_cuda)
    if depth >= _MAX_NESTING:
        return False
    return any(_is_on_card(part, depth + 1) for part in _parts(value))


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, (list, tuple)):
        yield from value
    elif not isinstance(value, type):
        yield from getattr(value, "__dict__", {}).values()  # a batch class of the script's


def _depth(loader: Any) -> int:
    """How many batches a loader lets its workers prepare; 0 when it has none."""
    return (getattr(loader, "prefetch_factor", None) or 0) * (getattr(loader, "num_workers", None) or 0)


def _ask_for_more(workers: Any, depth: int) -> None:
    """A pass that was cut had fewer batches to give out than the workers take.

    A batch that came before its turn waits with the loader: it is no longer outstanding, and has its place all the same
    until the loop is given it. PyTorch asserts as much when it sends the next.
    """
    send_one = of_loaders.send_one.of(workers, nothing)
    while of_loaders.outstanding.of(workers, depth) < depth:
        sent = of_loaders.sent.of(workers)
        if sent - of_loaders.given.of(workers, sent) >= depth:
            return
        send_one()
        if of_loaders.sent.of(workers) == sent:
            return


def _wait_until_full(workers: Any) -> None:
    until = time.monotonic() + _MAX_WAIT_SECONDS
    thread, queue = of_loaders.pin_thread.of(workers), of_loaders.received.of(workers)
    if queue is None:
        return
    while queue.qsize() < of_loaders.outstanding.of(workers, 0) and time.monotonic() < until:
        if thread is not None and not thread.is_alive():
            return
        time.sleep(_POLL_SECONDS)


def _on_batch(this_pass: Pass, batch: Any) -> None:
    """Finds the passes that this is about."""
    depth = _depth(this_pass.loader)
    if this_pass.ahead or depth == 0 or not _is_on_card(batch):
        return
    this_pass.ahead = depth
    if this_pass.wanted is not None and this_pass.wanted > 1:
        this_pass.wanted += depth
    if this_pass.number == 1:
        name = f"data loader {this_pass.ordinal + 1}"
        notes.note(
            said.Assumed(
                text=f"{name} puts batches on the card ahead of the loop, as many as it may: "
                f"{depth} (prefetch_factor x num_workers)",
            )
        )


def _fill(this_pass: Pass) -> None:
    workers = this_pass.iterator() if this_pass.iterator is not None else None
    if workers is None or not this_pass.ahead or this_pass.filled == this_pass.delivered:
        return
    this_pass.filled = this_pass.delivered
    _ask_for_more(workers, this_pass.ahead)
    _wait_until_full(workers)


def _on_model(module: Any, args: Any, kwargs: Any) -> None:
    """The loop has the batch now, and let go of the one before: a loader that was held till here has room to go on."""
    this_pass = innermost()
    if this_pass is not None:
        _fill(this_pass)


def install() -> None:
    if os.environ.get("VRAMFIT_REAL") == "1":
        return
    events.batch.listen(_on_batch)
    events.root_enter.listen(_on_model)
    before_batch.append(_fill)
