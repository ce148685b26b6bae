"""Batches in parts where another library has the say about gradients: DeepSpeed's engine, networks that ranks share."""

from __future__ import annotations

import pytest
from hooked_job import Job

PARTS = {"id": "micro_batch", "micro_batch": 2, "accumulate": 4, "loaders": [0]}

# An engine of DeepSpeed's public shape: it divides losses, and steps after every n-th backward pass by itself.
ENGINE = """
    class DeepSpeedEngine(torch.nn.Module):
        def __init__(self, module, optimizer, parts):
            super().__init__()
            self.module, self.optimizer, self.parts, self.seen = module, optimizer, parts, 0
        def forward(self, *args): return self.module(*args)
        def gradient_accumulation_steps(self): return self.parts
        def backward(self, loss):
            self.seen += 1
            (loss / self.parts).backward()
        def step(self):
            if self.seen % self.parts == 0:
                self.optimizer.step(); self.optimizer.zero_grad()
    engine = DeepSpeedEngine(net, torch.optim.SGD(net.parameters(), lr=0.1), MANY)
"""
LOOP = """
    loader = torch.utils.data.DataLoader(torch.randn(16, 8), batch_size=8)
    for x in loader:
        engine.backward(engine(x.to(next(net.parameters()).device)).square().mean())
        engine.step()
"""
NET = """
    import torch
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8))
"""


@pytest.mark.parametrize("many", [1, 3])
def test_parts_of_a_batch_are_left_to_the_engine_that_accumulates(job: Job, many: int) -> None:
    finished = job.run(NET + ENGINE.replace("MANY", str(many)) + LOOP, PARTS)
    told = finished.only("plan_refused")["text"]
    assert "DeepSpeed's engine adds up and averages gradients itself" in told
    assert f"gradient_accumulation_steps {4 * many} and train_micro_batch_size_per_gpu 2" in told
    assert finished.exit_code != 0


def test_an_engine_is_an_obstacle_where_no_plan_is_applied(job: Job) -> None:
    finished = job.run(NET + ENGINE.replace("MANY", "1") + LOOP, VRAMFIT_OBSTACLES="1")
    assert finished.exit_code == 0, finished.stderr
    told = [each["text"] for each in finished.of_kind("plan_obstacle") if each["id"] == "micro_batch"]
    assert any("DeepSpeed's engine" in text and "gradient_accumulation_steps" in text for text in told)


SHARED = """
    import os, json
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
    os.environ |= {"MASTER_ADDR": "localhost", "RANK": "0", "WORLD_SIZE": "1"}
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    torch.manual_seed(0)
    for p in net.parameters(): torch.nn.init.normal_(p, 0.0, 0.3)
    samples, targets, labels = torch.randn(16, 8), torch.randn(16, 8), torch.randint(0, 8, (16,))
    labels[2:7] = -100
    mesh = init_device_mesh("cpu", (1,))
    SHARD
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for x, y, k in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(samples, targets, labels), batch_size=8):
        optimizer.zero_grad()
        mask = (y > 0.5).float()
        (LOSS).backward()
        optimizer.step()
    whole = [p.full_tensor() if hasattr(p, "full_tensor") else p for p in net.parameters()]
    print(json.dumps([value for p in whole for value in p.detach().flatten().tolist()]))
    dist.destroy_process_group()
"""
SAME = {
    "FSDP": "net = FullyShardedDataParallel(net, device_id='cpu')",
    "DDP": "net = torch.nn.parallel.DistributedDataParallel(net)",
}
REPLACED = {
    "fully_shard": "fully_shard(net[0], mesh=mesh); fully_shard(net, mesh=mesh)",
    "FSDP, own parameters": "net = FullyShardedDataParallel(net, device_id='cpu', use_orig_params=True)",
}
LOSSES = {
    "mean": "(net(x) - y).square().mean()",
    "sum": "0.1 * (net(x) - y).square().sum()",
    "mask": "((net(x) - y).square() * mask).sum() / mask.sum()",
    "labels": "torch.nn.functional.cross_entropy(net(x), k)",
}


def shared(shard: str, loss: str) -> str:
    return NET + SHARED.replace("SHARD", shard).replace("LOSS", LOSSES[loss])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shard", SAME)
def test_networks_that_ranks_share_train_the_same_in_parts(job: Job, shard: str, loss: str) -> None:
    plain, parts = job.run(shared(SAME[shard], loss)), job.run(shared(SAME[shard], loss), PARTS)
    assert parts.of_kind("plan_refused") == []
    assert parts.output() == pytest.approx(plain.output(), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("shard", REPLACED)
def test_gradients_that_are_replaced_in_each_backward_pass_are_named(job: Job, shard: str) -> None:
    if "record_event" in job.run(shared(REPLACED[shard], "mean")).stderr:
        pytest.skip("this release's fully_shard needs a card")
    finished = job.run(shared(REPLACED[shard], "mean"), PARTS)
    assert "sharded over ranks (FSDP), which replaces its gradients" in finished.only("plan_refused")["text"]
    assert finished.exit_code != 0


# One process that says it is one of two: what each divides by is not looked at in the other.
TWO = """
    import torch.distributed as dist
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    dist.get_world_size = lambda *_: 2
    labels = torch.randint(0, 8, (16,))
    LEFT_OUT
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, k in torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(16, 8), labels), batch_size=8):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), k).backward()
        optimizer.step()
"""


@pytest.mark.parametrize("left_out", [True, False])
def test_ranks_that_divide_by_numbers_of_their_own_are_refused(job: Job, left_out: bool) -> None:
    script = NET + TWO.replace("LEFT_OUT", "labels[:3] = -100" if left_out else "pass")
    refusals = job.run(script, PARTS, VRAMFIT_VALUES="cpu").of_kind("plan_refused")
    assert ["another on each of 2 ranks" in each["text"] for each in refusals] == [True] * left_out
