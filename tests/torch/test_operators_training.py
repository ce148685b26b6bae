"""What a training loop uses on the virtual card: optimizers, mixed precision, checkpointing, loaders, streams, graphs,
the profiler, memory history, and running out of memory."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from operator_check import DEVICE, needs_card
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

pytestmark = needs_card
optim = torch.optim
MIB = 1 << 20

# State tensors the size of a parameter that each optimizer keeps.
STATES = {
    "Adam": 2,
    "AdamW": 2,
    "SGD": 0,
    "RMSprop": 1,
    "Adagrad": 1,
    "NAdam": 2,
    "RAdam": 2,
    "Adadelta": 2,
    "Adamax": 2,
    "ASGD": 1,
    "Rprop": 2,
}
WAYS = {"loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
FUSED = {"Adam", "AdamW", "SGD"}  # of these there are fused CUDA kernels
KINDS = [(name, way) for name in STATES for way in WAYS if way != "fused" or name in FUSED]


def one_step(model: nn.Module, optimizer: optim.Optimizer) -> None:
    model(torch.ones(4, 256, device=DEVICE)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()


@pytest.mark.parametrize(("name", "way"), KINDS)
def test_optimizers_keep_the_state_they_are_known_for(name, way) -> None:
    model = nn.Linear(256, 256, bias=False, device=DEVICE)
    optimizer = getattr(optim, name)(model.parameters(), lr=1e-3, **WAYS[way])
    one_step(model, optimizer)
    one_step(model, optimizer)
    state = [
        t
        for s in optimizer.state.values()
        for t in s.values()
        if isinstance(t, torch.Tensor) and t.numel() == 256 * 256
    ]
    assert len(state) == STATES[name]


def test_optimizers_of_other_kinds() -> None:
    model = nn.Linear(256, 256, device=DEVICE)
    one_step(model, optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True))
    lbfgs = optim.LBFGS(model.parameters(), max_iter=2)
    lbfgs.step(lambda: model(torch.ones(4, 256, device=DEVICE)).sum())
    table = nn.Embedding(100, 16, sparse=True, device=DEVICE)
    sparse = optim.SparseAdam(table.parameters())
    table(torch.tensor([1, 2], device=DEVICE)).sum().backward()
    sparse.step()
    if hasattr(optim, "Adafactor"):
        one_step(model, optim.Adafactor(model.parameters()))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_autocast_and_the_gradient_scaler(dtype) -> None:
    model = nn.Sequential(nn.Linear(100, 100), nn.ReLU(), nn.Linear(100, 10)).to(DEVICE)
    optimizer, scaler = optim.AdamW(model.parameters()), torch.amp.GradScaler(DEVICE)
    for _ in range(3):
        with torch.autocast(DEVICE, dtype):
            output = model(torch.ones(8, 100, device=DEVICE))
            assert output.dtype == dtype
            loss = F.cross_entropy(output, torch.zeros(8, dtype=torch.long, device=DEVICE))
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    assert len(optimizer.state) == 4  # the scaler's inf check read zero: every step was taken


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpointing_keeps_less(reentrant) -> None:
    def kept(wrapped: bool) -> int:
        layers = nn.Sequential(
            *(nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)) for _ in range(4))
        ).to(DEVICE)
        x = torch.ones(64, 256, device=DEVICE, requires_grad=True)
        before, out = torch.cuda.memory_allocated(), x
        for layer in layers:
            out = checkpoint(layer, out, use_reentrant=reentrant) if wrapped else layer(out)
        held = torch.cuda.memory_allocated() - before
        out.sum().backward()
        assert all(p.grad is not None for p in layers.parameters())
        return held

    kept(False)
    assert kept(True) < kept(False) / 3


@pytest.mark.parametrize("workers", [0, 2])
def test_a_pinned_loader_moves_its_batches(workers) -> None:
    data = TensorDataset(torch.arange(640.0).view(64, 10), torch.arange(64))
    seen = []
    for x, y in DataLoader(data, batch_size=8, num_workers=workers, pin_memory=True):
        assert x.is_pinned()
        seen += y.to(DEVICE, non_blocking=True).tolist()
        assert x.to(DEVICE, non_blocking=True).is_cuda
    assert seen == list(range(64))


def test_events_and_streams() -> None:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    torch.ones(512, 512, device=DEVICE) @ torch.ones(512, 512, device=DEVICE)
    end.record()
    torch.cuda.synchronize()
    assert start.query() and start.elapsed_time(end) > 0
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.ones(10, device=DEVICE)
        x.record_stream(stream)
    torch.cuda.current_stream().wait_stream(stream)
    assert stream.priority == 0


def test_graphs_replay_and_keep_a_pool_of_their_own() -> None:
    model, x = nn.Linear(64, 64, device=DEVICE), torch.ones(8, 64, device=DEVICE)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        model(x)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = model(x)
    graph.replay()
    assert y.shape == (8, 64)
    graphed = torch.cuda.make_graphed_callables(
        nn.Linear(64, 64, device=DEVICE), (torch.ones(8, 64, device=DEVICE, requires_grad=True),)
    )
    graphed(torch.ones(8, 64, device=DEVICE, requires_grad=True)).sum().backward()


def test_the_profiler_sees_operators_and_memory() -> None:
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        torch.ones(64, 64, device=DEVICE) @ torch.ones(64, 64, device=DEVICE)
    assert "aten::mm" in {event.name for event in profile.events()}


def test_memory_history_and_summaries(tmp_path: Path) -> None:
    torch.cuda.memory._record_memory_history()
    x = torch.ones(1000, 1000, device=DEVICE)
    torch.cuda.memory._dump_snapshot(str(tmp_path / "snapshot.pickle"))
    torch.cuda.memory._record_memory_history(enabled=None)
    snapshot = pickle.loads((tmp_path / "snapshot.pickle").read_bytes())
    assert any(event["action"] == "alloc" and event["size"] >= x.nbytes for event in snapshot["device_traces"][0])
    assert "Allocated memory" in torch.cuda.memory_summary()


def test_running_out_of_memory_is_pytorchs_own_error() -> None:
    torch.cuda.empty_cache()
    held = []
    with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory. Tried to allocate 8.00 GiB"):
        for _ in range(64):
            held.append(torch.empty(8 << 30, dtype=torch.uint8, device=DEVICE))
    total = torch.cuda.get_device_properties(0).total_memory
    assert total - (9 << 30) < len(held) * (8 << 30) < total
    del held
    torch.cuda.empty_cache()
    free, _ = torch.cuda.mem_get_info()
    assert free > total - (4 << 30)


def test_a_fraction_of_the_card_is_a_limit() -> None:
    torch.cuda.set_per_process_memory_fraction(0.1)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(torch.cuda.get_device_properties(0).total_memory // 5, dtype=torch.uint8, device=DEVICE)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def test_blocks_are_rounded_as_the_caching_allocator_does() -> None:
    before = torch.cuda.memory_allocated()
    x = torch.empty(1000, dtype=torch.uint8, device=DEVICE)
    assert torch.cuda.memory_allocated() - before == 1024 and x.is_cuda


def test_quantised_and_double_backward() -> None:
    x = torch.ones(4, 8, device=DEVICE, requires_grad=True)
    (first,) = torch.autograd.grad(x.pow(3).sum(), x, create_graph=True)
    first.sum().backward()
    assert x.grad is not None
    fake = torch.fake_quantize_per_tensor_affine(x.detach(), 0.1, 0, -128, 127)
    assert fake.shape == (4, 8)
    assert torch.func.vmap(lambda a: a * 2)(x).shape == (4, 8)
    assert torch.func.jacrev(lambda a: (a * a).sum())(x).shape == (4, 8)
