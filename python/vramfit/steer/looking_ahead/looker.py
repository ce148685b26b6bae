"""The process that looks at a data set, in a fork of the job: on file descriptors of its own, and without writing.

It may hang or die as it likes: the job never waits for it. What it finds goes through a pipe: eight bytes, its process
id; then a pickled `{looked, of, differ, error, batch}`, `batch` being pickled bytes, or None where all are of one size.
"""

from __future__ import annotations

import heapq
import itertools
import os
import pickle
import resource
import signal
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from vramfit.private import loaders as of_loaders
from vramfit.steer.coverage import lines
from vramfit.steer.looking_ahead.sizes import size_of

_DENIED = (
    "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown",
    "shutil.", "socket.connect", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.kill",
)  # fmt: skip
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_MAX_BATCHES = 200_000  # of a sampler that says itself what goes together
_FEWEST = 3  # samples that may fail before it is given up


def run(loader: Any, answer_fd: int, seconds: float) -> None:
    """Never returns."""
    os.environ.pop("VRAMFIT_RUN_DIR", None)  # no recording: what is done here is not the job's
    try:
        lines.end()
        os.write(answer_fd, os.getpid().to_bytes(8, "little"))
        until = time.monotonic() + seconds
        _settle_down(answer_fd, seconds)
        _send(answer_fd, _look(loader, until))
    except BaseException:  # noqa: B036 - whatever it is, it concerns nobody
        pass
    finally:
        os._exit(0)


# -- apart from the job


def _settle_down(kept: int, seconds: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(int(seconds) + 5)
    for number in [int(name) for name in os.listdir("/proc/self/fd")]:
        if number != kept:
            _own_descriptor(number)
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    sys.addaudithook(_deny_writing)
    torch = sys.modules["torch"]
    torch.set_num_threads(1)  # a fork of OpenMP's threads has none of them


def _own_descriptor(number: int) -> None:
    """A file that is read gets a position of its own; whatever could be written to leads nowhere."""
    try:
        kind, flags = os.fstat(number).st_mode, _flags_of(number)
        if stat.S_ISDIR(kind):
            return
        if stat.S_ISREG(kind) and flags & os.O_ACCMODE == os.O_RDONLY:
            position = os.lseek(number, 0, os.SEEK_CUR)
            opened = os.open(f"/proc/self/fd/{number}", os.O_RDONLY)
            os.lseek(opened, position, os.SEEK_SET)
        else:
            opened = os.open("/dev/null", os.O_RDWR)
        os.dup2(opened, number)
        os.close(opened)
    except OSError:  # the folder's own is closed again
        pass


def _flags_of(number: int) -> int:
    import fcntl

    return fcntl.fcntl(number, fcntl.F_GETFL)


def _deny_writing(event: str, arguments: Any) -> None:
    if event == "open":
        mode, flags = arguments[1], arguments[2]
        writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & _WRITES)
        if writes and not str(arguments[0]).startswith("/dev/"):
            raise PermissionError("looking ahead writes nothing")
    elif event.startswith(_DENIED):
        raise PermissionError(f"looking ahead does not {event}")


def _send(answer_fd: int, answer: dict[str, Any]) -> None:
    data = memoryview(pickle.dumps(answer))
    while data:
        data = data[os.write(answer_fd, data) :]


# -- looking


def _look(loader: Any, until: float) -> dict[str, Any]:
    data = loader.dataset
    try:
        count = len(data)
    except (TypeError, NotImplementedError):
        count = None
    if of_loaders.is_stream(loader) or count is None:
        return _look_at_stream(loader, until)
    return _look_at_samples(loader, count, until)


def _spread(count: int) -> Iterator[int]:
    """Every index once: the last, the first, the middle, the quarters ..."""
    yield count - 1
    bits = max(1, (count - 1).bit_length())
    for number in range(1 << bits):
        index = int(f"{number:0{bits}b}"[::-1], 2)
        if index < count - 1:
            yield index


def _look_at_samples(loader: Any, count: int, until: float) -> dict[str, Any]:
    sizes: dict[int, int] = {}
    failed, error = 0, ""
    order = _own_indices(loader)
    for place in _spread(len(order) if order is not None else count):
        if time.monotonic() > until:
            break
        index = order[place] if order is not None else place
        try:
            sizes[index] = size_of(loader.dataset[index])
        except Exception as problem:
            failed, error = failed + 1, f"{type(problem).__name__}: {problem}"
            if failed >= _FEWEST and not sizes:
                break
    differ = len(set(sizes.values())) > 1
    batch = _largest_batch(loader, sizes) if differ else None
    return {"looked": len(sizes), "of": len(order or range(count)), "differ": differ, "error": error, "batch": batch}


def _own_indices(loader: Any) -> Sequence[int] | None:
    """The indices of a sampler that draws from a part of the data set."""
    indices = getattr(getattr(loader, "sampler", None), "indices", None)
    return list(indices) if indices is not None and hasattr(indices, "__len__") else None


def _largest_batch(loader: Any, sizes: dict[int, int]) -> bytes | None:
    largest: tuple[int, Any] = (0, None)
    for indices in _candidates(loader, sizes):
        try:
            batch = loader.collate_fn([loader.dataset[index] for index in indices])
        except Exception:
            continue
        if size_of(batch) > largest[0]:
            largest = (size_of(batch), batch)
    return None if largest[1] is None else pickle.dumps(largest[1])


def _candidates(loader: Any, sizes: dict[int, int]) -> Iterator[list[int]]:
    """Batches that the sampler can draw: any, where it draws by chance, or those that it lists now."""
    size = getattr(loader, "batch_size", None)
    if size is None and getattr(loader, "batch_sampler", None) is None:  # each sample is a batch
        raise LookupError("no batches")
    sampler = getattr(loader, "sampler", None)
    by_chance = "Random" in type(sampler).__name__ or "Weighted" in type(sampler).__name__
    by_chance = by_chance or getattr(sampler, "shuffle", None) is True
    if size is not None and by_chance:
        yield heapq.nlargest(size, sizes, key=lambda index: sizes[index])
        return
    batches: list[list[int]] = list(itertools.islice(iter(loader.batch_sampler), _MAX_BATCHES))
    known: list[list[int]] = [batch for batch in batches if any(index in sizes for index in batch)]
    if not known:
        return

    padded = max(known, key=lambda batch: len(batch) * max(sizes.get(index, 0) for index in batch))
    ragged = max(known, key=lambda batch: sum(sizes.get(index, 0) for index in batch))
    yield list(padded)
    yield list(ragged)


def _look_at_stream(loader: Any, until: float) -> dict[str, Any]:
    size = getattr(loader, "batch_size", None) or 1
    largest: tuple[int, Any] = (0, None)
    seen: set[int] = set()
    looked = 0
    samples = iter(loader.dataset)
    while time.monotonic() < until:
        samples_of_batch = list(itertools.islice(samples, size))
        if not samples_of_batch:
            break
        looked += len(samples_of_batch)
        total = size_of(samples_of_batch)
        if len(samples_of_batch) == size:
            seen.add(total)
        if total > largest[0]:
            largest = (total, samples_of_batch)
    differ = len(seen) > 1
    collate = (
        loader.collate_fn
        if getattr(loader, "batch_size", None) is not None
        else lambda samples_of_batch: samples_of_batch[0]
    )
    batch = pickle.dumps(collate(largest[1])) if differ else None
    return {"looked": looked, "of": None, "differ": differ, "error": "", "batch": batch}
