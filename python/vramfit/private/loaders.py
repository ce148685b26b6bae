"""The private names of PyTorch's data loaders."""

from __future__ import annotations

from vramfit.private.names import Attribute, Name

LIBRARY = "torch"
READY: tuple[str, ...] = ()
_LOADER = "torch.utils.data.dataloader:DataLoader"
_WORKERS = "torch.utils.data.dataloader:_MultiProcessingDataLoaderIter"
STREAM = 1  # _DatasetKind.Iterable

index_sampler = Name(
    f"{_LOADER}._index_sampler", "workers of loaders read on past where a pass is cut, nor is it split"
)
dataset_kind = Attribute(f"{_LOADER}._dataset_kind", "streams of data are taken for data of a known length")
kept_iterator = Attribute(f"{_LOADER}._iterator", "loaders with persistent workers are cut in their first pass only")
drawn_from = Attribute(f"{_WORKERS}._index_sampler", "loaders with persistent workers are cut in their first pass only")
draws = Attribute(f"{_WORKERS}._sampler_iter", "loaders with persistent workers are cut in their first pass only")
outstanding = Attribute(f"{_WORKERS}._tasks_outstanding", "loaders that run ahead on the card are not waited for")
sent = Attribute(f"{_WORKERS}._send_idx", "loaders that run ahead on the card are not waited for")
given = Attribute(f"{_WORKERS}._rcvd_idx", "loaders that run ahead on the card are not waited for")
send_one = Attribute(f"{_WORKERS}._try_put_index", "loaders that run ahead on the card are not waited for")
received = Attribute(f"{_WORKERS}._data_queue", "loaders that run ahead on the card are not waited for")
pin_thread = Attribute(f"{_WORKERS}._pin_memory_thread", "a pass may wait for a thread that has ended")
pin = Name(
    "torch.utils.data._utils.pin_memory:pin_memory", "the largest batch is not in pinned memory", lambda batch: batch
)
worker_loop = Name(
    "torch.utils.data._utils.worker:_worker_loop", "workers of loaders are not told from other processes"
)
pin_loop = Name("torch.utils.data._utils.pin_memory:_pin_memory_loop", "threads that pin memory are not known as such")


def is_stream(loader: object) -> bool:
    return bool(dataset_kind.of(loader) == STREAM)
