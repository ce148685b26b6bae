"""Sparse tensors of the virtual card: how many rows they have, and whose memory it is."""

from __future__ import annotations

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

CARD = 8 << 30


def test_rows_are_taken_to_be_different_where_no_values_are_computed(job: Job) -> None:
    rows = """
        import json, torch
        gradient = torch.sparse_coo_tensor(torch.zeros(1, 6, dtype=torch.long), torch.ones(6, 4), (9, 4)).cuda()
        joined = gradient.coalesce()
        print(json.dumps([joined.is_coalesced(), list(joined.indices().shape), list(joined.values().shape)]))
    """
    assert job.run(rows, card=CARD).output() == [True, [1, 6], [6, 4]]
    assert job.run(rows, card=CARD, VRAMFIT_VALUES="cpu").output() == [True, [1, 1], [1, 4]]


TRAINS = """
    import json, torch
    table = torch.nn.Embedding(100, 4, sparse=True)
    start = table.weight.detach().clone()
    table = table.cuda()
    optimizer = torch.optim.#made
    for _ in range(2):
        optimizer.zero_grad()
        table(torch.tensor([3, 7, 3]).cuda()).square().sum().backward()
        optimizer.step()
    print(json.dumps({"moved": (table.weight.detach().cpu() - start).abs().sum(1).nonzero().flatten().tolist(),
                      "weights": table.weight.detach().double().cpu()[[3, 7]].tolist()}))
"""


@pytest.mark.parametrize("made", ["SparseAdam(table.parameters())", "SGD(table.parameters(), 0.1)"])
def test_computed_values_are_those_of_the_cpu(job: Job, made: str) -> None:
    script = "    import torch\n    torch.manual_seed(0)" + TRAINS.replace("#made", made)
    on_card = job.run(script, card=CARD, VRAMFIT_VALUES="cpu")
    told, expected = on_card.output(), job.run(script.replace(".cuda()", "")).output()
    assert told["moved"] == expected["moved"] == [3, 7]
    for own, other in zip(told["weights"], expected["weights"]):
        assert own == pytest.approx(other, rel=1e-5)
    assert not any("not exact" in note["text"] for note in on_card.of_kind("values"))


def test_whose_memory_they_are_is_known(job: Job) -> None:
    finished = job.run(TRAINS.replace("#made", "SGD(table.parameters(), 0.1)"), card=CARD)
    assert not finished.of_kind("hook_failed")
    assert "weight" in {record.text for record in finished.records if record.kind == "tag" and record.a == 2}


@pytest.mark.parametrize("values", ["zeros", "cpu"])
def test_what_is_moved_to_the_host_is_there(job: Job, values: str) -> None:
    moves = """
        import json, torch
        rows = torch.sparse_coo_tensor(torch.tensor([[2, 0]]), torch.ones(2, 4), (9, 4))
        host = (rows.cuda() * 2).cpu()
        print(json.dumps([host.device.type, rows.cuda().device.type, host.to_dense().device.type]))
    """
    assert job.run(moves, card=CARD, VRAMFIT_VALUES=values).output() == ["cpu", "cuda", "cpu"]
