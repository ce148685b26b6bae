"""Every collective of c10d over NCCL with small tensors, each checked against what it must give."""

from __future__ import annotations

import os

import torch
import torch.distributed as dist
from rank_report import report

rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
everyone = range(ranks)
done: list[str] = []


def check(name: str, got: object, expected: object) -> None:
    got = got.tolist() if isinstance(got, torch.Tensor) else got
    assert got == expected, f"rank {rank}: {name} gave {got!r}, not {expected!r}"
    done.append(name)


def on_card(*values: float, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Made on the host: what a kernel computes on a virtual card reads as zeros."""
    return torch.tensor(values, dtype=dtype).to(device)


def reductions() -> None:
    total = sum(float(r) for r in everyone)
    for operation, expected in (
        (dist.ReduceOp.SUM, total),
        (dist.ReduceOp.MAX, ranks - 1.0),
        (dist.ReduceOp.MIN, 0.0),
        (dist.ReduceOp.AVG, total / ranks),
    ):
        x = on_card(rank)
        dist.all_reduce(x, op=operation)
        check(f"all_reduce {operation}", x, [expected])
    whole = torch.tensor([rank, 1]).to(device)
    dist.all_reduce(whole)
    check("all_reduce int64", whole, [int(total), ranks])
    half = on_card(rank, dtype=torch.half)
    dist.all_reduce(half)
    check("all_reduce half", half, [total])
    x = on_card(rank)
    dist.reduce(x, dst=0)
    check("reduce", x if rank == 0 else [total], [total])
    output = on_card(0)
    dist.reduce_scatter(output, [on_card(rank + r) for r in everyone])
    check("reduce_scatter", output, [total + ranks * rank])
    dist.reduce_scatter_tensor(output, on_card(*(rank + r for r in everyone)))
    check("reduce_scatter_tensor", output, [total + ranks * rank])


def gatherings() -> None:
    each = [on_card(-1) for _ in everyone]
    dist.all_gather(each, on_card(rank))
    check("all_gather", [t.item() for t in each], [float(r) for r in everyone])
    whole = on_card(*([-1.0] * ranks))
    dist.all_gather_into_tensor(whole, on_card(rank))
    check("all_gather_into_tensor", whole, [float(r) for r in everyone])
    dist.gather(on_card(rank), each if rank == 0 else None, dst=0)
    check("gather", [t.item() for t in each], [float(r) for r in everyone])
    output = on_card(-1)
    dist.scatter(output, [on_card(10 + r) for r in everyone] if rank == 0 else None, src=0)
    check("scatter", output, [10.0 + rank])
    x = on_card(rank)
    dist.broadcast(x, src=ranks - 1)
    check("broadcast", x, [ranks - 1.0])


def everyone_to_everyone() -> None:
    output = on_card(*([-1.0] * ranks))
    dist.all_to_all_single(output, on_card(*(10 * rank + r for r in everyone)))
    check("all_to_all_single", output, [10.0 * r + rank for r in everyone])
    each = [on_card(-1) for _ in everyone]
    dist.all_to_all(each, [on_card(10 * rank + r) for r in everyone])
    check("all_to_all", [t.item() for t in each], [10.0 * r + rank for r in everyone])


def neighbours() -> None:
    after, before = (rank + 1) % ranks, (rank - 1) % ranks
    got = on_card(-1)
    if rank % 2 == 0:
        dist.send(on_card(rank), after)
        dist.recv(got, before)
    else:
        dist.recv(got, before)
        dist.send(on_card(rank), after)
    check("send and recv", got, [float(before)])
    got = on_card(-1)
    requests = dist.batch_isend_irecv(
        [dist.P2POp(dist.isend, on_card(rank), after), dist.P2POp(dist.irecv, got, before)]
    )
    for request in requests:
        request.wait()
    check("batch_isend_irecv", got, [float(before)])


def objects() -> None:
    each: list[object] = [None] * ranks
    dist.all_gather_object(each, {"rank": rank, "text": "x" * rank})
    check("all_gather_object", each, [{"rank": r, "text": "x" * r} for r in everyone])
    one: list[object] = [f"from {rank}"]
    dist.broadcast_object_list(one, src=0)
    check("broadcast_object_list", one, ["from 0"])
    dist.gather_object(rank, each if rank == 0 else None, dst=0)
    check("gather_object", each if rank == 0 else list(everyone), list(everyone))
    got: list[object] = [None]
    dist.scatter_object_list(got, [f"to {r}" for r in everyone] if rank == 0 else None, src=0)
    check("scatter_object_list", got, [f"to {rank}"])


def groups() -> None:
    many = [on_card(rank), on_card(rank, rank)]
    with dist._coalescing_manager():
        for x in many:
            dist.all_reduce(x)
    total = sum(float(r) for r in everyone)
    check("coalesced all_reduce", [x.tolist() for x in many], [[total], [total, total]])
    work = dist.all_reduce(x := on_card(1), async_op=True)
    work.wait()
    check("asynchronous all_reduce", x, [float(ranks)])
    pair = [r for r in everyone if r // 2 == rank // 2]
    mine = [dist.new_group([r, r + 1]) for r in range(0, ranks - 1, 2)][rank // 2]
    dist.all_reduce(x := on_card(rank), group=mine)
    check("all_reduce in a group", x, [float(sum(pair))])
    dist.barrier()
    done.append("barrier")


for part in (reductions, gatherings, everyone_to_everyone, neighbours, objects, groups):
    part()
report(done=done)
dist.destroy_process_group()
