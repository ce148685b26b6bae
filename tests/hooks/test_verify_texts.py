"""Comparisons need few tokens of each text: what is left out is left out of all tensors of a batch alike."""

from __future__ import annotations

import json

import pytest
from hooked_job import Job

SCRIPT = """
    import json, torch
    from torch.utils.data import DataLoader, Dataset
    class Texts(Dataset):
        def __len__(self): return 8
        def __getitem__(self, i):
            ids = torch.arange({length}) + 1
            labels = ids.clone()
            labels[: {length} // 2] = -100
            return {{"ids": ids, "labels": labels, {more}}}
    for batch in DataLoader(Texts(), batch_size=2):
        print(json.dumps({{name: [list(v.shape), v.reshape(v.shape[0], -1)[0].tolist()] for name, v in batch.items()}}))
        break
"""


def batch_of(job: Job, length: int, more: str = "") -> dict[str, list]:
    asked = json.dumps({"steps": 2, "samples": 2, "tokens": 16})
    return job.run(SCRIPT.format(length=length, more=more), VRAMFIT_VERIFY=asked).output()


@pytest.mark.parametrize(("length", "kept"), [(512, 16), (300, 19), (31, 31), (16, 16)])
def test_every_so_many_columns_stay(job: Job, length: int, kept: int) -> None:
    batch = batch_of(job, length)
    assert batch["ids"][0] == [2, kept]
    step = batch["ids"][1][1] - batch["ids"][1][0]
    assert batch["ids"][1] == list(range(1, length + 1, step))
    ignored = batch["labels"][1].count(-100)
    assert abs(ignored / kept - 0.5) < 0.06, "the share that counts stays what it was"


def test_masks_of_pairs_lose_both_sides_and_other_tensors_none(job: Job) -> None:
    more = '"pairs": torch.ones(1, 64, 64, dtype=torch.bool), "image": torch.ones(3, 32, 32), "label": torch.tensor(50)'
    batch = batch_of(job, 64, more)
    assert [batch[name][0] for name in ("ids", "pairs", "image")] == [[2, 16], [2, 1, 16, 16], [2, 3, 32, 32]]


@pytest.mark.parametrize(
    "more", ['"wave": torch.ones(64)', '"start_positions": torch.tensor(3)', '"at": torch.tensor(40)']
)
def test_what_hangs_on_the_length_leaves_the_batch_as_it_is(job: Job, more: str) -> None:
    assert batch_of(job, 64, more)["ids"][0] == [2, 64]
