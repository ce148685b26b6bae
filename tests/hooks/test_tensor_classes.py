"""torchvision's tensors keep their class wherever values are followed, as they do without us."""

from __future__ import annotations

import importlib.util

import pytest
from hooked_job import Job

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torchvision") is None, reason="torchvision is not installed")

CARD = 8 << 30
MOVES = """
    import json, torch
    #first
    from torchvision import tv_tensors
    def classes():
        image = tv_tensors.Image(torch.rand(3, 8, 8))
        moved = (image.to("cuda"), image.to(torch.float64), image.clone(), image.cuda(), image + 1)
        return [type(each).__name__ for each in moved]
    before = classes()
    if torch.ones(3, device="cuda").sum().gt(1e9).item():
        raise SystemExit("never")
    print(json.dumps([before, classes()]))
"""
KEPT = ["Image", "Image", "Image", "Tensor", "Tensor"]


@pytest.mark.parametrize("values", ["auto", "tracked", "cpu"])
@pytest.mark.parametrize("cold", [True, False])
def test_images_stay_images(job: Job, values: str, cold: bool) -> None:
    assert job.run(MOVES, card=CARD, cold=cold, VRAMFIT_VALUES=values).output() == [KEPT, KEPT]


TRAINS = """
    import json, torch
    from torchvision import tv_tensors
    image = tv_tensors.Image(torch.rand(3, 8, 8))
    model = torch.nn.Linear(4, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    seen = set()
    for x in torch.utils.data.DataLoader(torch.rand(12, 4), batch_size=4):
        seen.add(type(image.to("cuda")).__name__)
        optimizer.zero_grad()
        model(x.cuda()).sum().backward()
        optimizer.step()
        seen.add(type(image.to(torch.float64)).__name__)
    print(json.dumps(sorted(seen)))
"""


@pytest.mark.parametrize("cold", [True, False])
def test_images_stay_images_while_a_step_is_looked_at(job: Job, cold: bool) -> None:
    assert job.run(TRAINS, card=CARD, cold=cold).output() == ["Image"]
