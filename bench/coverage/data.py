"""Data of which some is larger: sorted, drawn by chance, in the middle of a pass."""

from __future__ import annotations

import random

import torch
from parts import CARD, Rows, loader, padded, program, setup, step
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, Sampler, SubsetRandomSampler

COUNT = 64000


def _train(data: DataLoader[torch.Tensor], epochs: int = 1) -> None:
    model, optimizer = setup()
    for _ in range(epochs):
        for x in data:
            step(model, optimizer, x.to(CARD))


@program
def sorted_longest_last() -> None:
    _train(loader(COUNT, rows=lambda index: 1 + index // 1000))


@program
def sorted_longest_first() -> None:
    _train(loader(COUNT, rows=lambda index: 1 + (COUNT - index) // 1000))


@program
def one_long_sample_of_many() -> None:
    _train(loader(COUNT, rows=lambda index: 400 if index == 50000 else 8))


@program
def one_long_sample_shuffled() -> None:
    torch.manual_seed(3)
    _train(loader(COUNT, rows=lambda index: 400 if index == 50000 else 8, shuffle=True))


@program
def lengths_by_chance() -> None:
    lengths = random.Random(0).choices(range(4, 64), k=COUNT)
    _train(loader(COUNT, rows=lengths.__getitem__, shuffle=True))


@program
def one_large_validation_image() -> None:
    model, optimizer = setup()
    data = loader(1600, shuffle=True)
    held = loader(16000, 1, rows=lambda index: 3000 if index == 12900 else 30)
    for _ in range(2):
        for x in data:
            step(model, optimizer, x.to(CARD))
        with torch.no_grad():
            for x in held:
                model(x.to(CARD))


class Buckets(Sampler[list[int]]):
    """Batches of samples of one length, short ones first."""

    def __init__(self, count: int, size: int) -> None:
        self.batches = [list(range(first, first + size)) for first in range(0, count, size)]

    def __iter__(self):
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)


@program
def buckets_by_length() -> None:
    data = Rows(COUNT, lambda index: 1 + index // 1600)
    _train(DataLoader(data, batch_sampler=Buckets(COUNT, 16), collate_fn=padded))


class ByTokens(Sampler[list[int]]):
    """As many samples as fit so many rows: the largest batch is in the middle."""

    def __iter__(self):
        for number in range(4000):
            size = 128 if number == 3333 else 16
            yield list(range(size))

    def __len__(self) -> int:
        return 4000


@program
def batches_by_tokens() -> None:
    _train(DataLoader(Rows(COUNT), batch_sampler=ByTokens()))


@program
def last_batch_is_smaller() -> None:
    _train(loader(1605, 64, shuffle=True), 4)


@program
def stream_without_a_length() -> None:
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            for index in range(COUNT):
                yield torch.ones(200 if index == 40000 else 8, 256)

    _train(DataLoader(Stream(), 16, collate_fn=padded))


@program
def augmentation_that_enlarges_rarely() -> None:
    class Enlarging(Rows):
        def __getitem__(self, index: int) -> torch.Tensor:
            chance = random.Random(index).random()
            return torch.ones(300 if chance < 0.0002 else 16, 256)

    _train(DataLoader(Enlarging(COUNT), 16, shuffle=True, collate_fn=padded))


@program
def a_subset_is_validated_in_one_batch() -> None:
    model, optimizer = setup()
    train = DataLoader(Rows(3200), 16, sampler=SubsetRandomSampler(range(1600)))
    held = DataLoader(Rows(3200), 1600)
    for _ in range(4):
        for x in train:
            step(model, optimizer, x.to(CARD))
        with torch.no_grad():
            for x in held:
                model(x.to(CARD))


@program
def workers_load() -> None:
    _train(DataLoader(Rows(COUNT), 16, shuffle=True, num_workers=2))


@program
def batches_drawn_by_hand() -> None:
    model, optimizer = setup()
    data = iter(DataLoader(Rows(COUNT, lambda index: 4 + index // 8000), 16, collate_fn=padded))
    for _ in range(3900):
        step(model, optimizer, next(data).to(CARD))


@program
def sampler_of_samplers() -> None:
    sampler = BatchSampler(RandomSampler(Rows(COUNT)), 48, drop_last=True)
    _train(DataLoader(Rows(COUNT), batch_sampler=sampler), 3)
