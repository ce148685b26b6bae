"""Comparisons need few pixels of each image: what is left out is left out of all that lies over it."""

from __future__ import annotations

import json

import pytest
from hooked_job import Job

SCRIPT = """
    import json, torch
    from torch.utils.data import DataLoader, Dataset
    class Images(Dataset):
        def __len__(self): return 4
        def __getitem__(self, i):
            rows = torch.arange({height}).float().view(1, -1, 1).expand(3, -1, {width})
            return {{"image": rows / {height}, {more}}}
    for batch in DataLoader(Images(), batch_size=2):
        found = {{name: list(v.shape) for name, v in batch.items()}}
        print(json.dumps(found | {{"rows": (batch["image"][0, 0, :, 0] * {height}).round().int().tolist()}}))
        break
"""


def batch_of(job: Job, height: int, width: int, more: str = "") -> dict[str, list]:
    asked = json.dumps({"steps": 2, "samples": 2, "side": 128})
    script = SCRIPT.format(height=height, width=width, more=more.format(size=f"{height}, {width}"))
    return job.run(script, VRAMFIT_VERIFY=asked).output()


@pytest.mark.parametrize(
    ("size", "kept"),
    [
        ((512, 1024), (128, 256)),
        ((2240, 2240), (160, 160)),  # can be halved five times, as the whole one
        ((769, 769), (129, 129)),  # corners that are aligned
        ((600, 600), (200, 200)),
        ((224, 224), (224, 224)),
        ((300, 400), (300, 400)),  # a third or half of them could not be halved as often
        ((32, 4096), (32, 4096)),
    ],
)
def test_every_so_many_rows_and_columns_stay(job: Job, size: tuple[int, int], kept: tuple[int, int]) -> None:
    batch = batch_of(job, *size)
    assert batch["image"] == [2, 3, *kept]
    assert batch["rows"] == list(range(0, size[0], -(-size[0] // kept[0])))


def test_label_maps_and_masks_stay_over_their_image(job: Job) -> None:
    more = (
        '"labels": torch.ones({size}).long(), "mask": torch.ones(1, {size}, dtype=torch.bool), "kind": torch.tensor(7)'
    )
    batch = batch_of(job, 512, 1024, more)
    assert [batch[name] for name in ("image", "labels", "mask", "kind")] == [
        [2, 3, 128, 256], [2, 128, 256], [2, 1, 128, 256], [2]]  # fmt: skip


def test_channels_may_come_last(job: Job) -> None:
    assert batch_of(job, 512, 512, '"other": torch.ones({size}, 3)')["other"] == [2, 128, 128, 3]


@pytest.mark.parametrize(
    "more",
    [
        '"boxes": torch.tensor([[3.0, 4.0, 90.0, 100.0]])',
        '"box": torch.tensor([3, 4, 90, 100])',
        '"key_points": torch.tensor([12.5, 300.0, 7.0])',
        '"coarse": torch.ones(64, 128)',
        '"size": torch.tensor(1024)',
    ],
)
def test_what_hangs_on_the_size_leaves_the_batch_as_it_is(job: Job, more: str) -> None:
    assert batch_of(job, 512, 1024, more)["image"] == [2, 3, 512, 1024]
