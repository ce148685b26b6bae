"""VRAMFIT_VALUES=tracked: what steers a script is computed where it is known, and possible where it is not."""

from __future__ import annotations

import json

import pytest
from hooked_job import Finished, Job

pytestmark = pytest.mark.by_release

GIB = 1 << 30

# More multiplications than are computed, so that nothing is known of what comes out.
UNKNOWN = """
    import json, torch
    wide = torch.nn.Linear(2048, 1024, device="cuda")
    def unknown(*shape):
        product = torch.rand(512, 2048, device="cuda") @ wide.weight.detach().T
        return product.flatten()[: torch.Size(shape).numel()].view(shape)
"""


def tracked(job: Job, text: str, **extra: str) -> Finished:
    return job.run(text, card=2 * GIB, VRAMFIT_VALUES="tracked", **extra)


def test_what_follows_from_the_host_and_from_factories_is_exact(job: Job) -> None:
    finished = tracked(
        job,
        """
        import json, torch
        batch = torch.tensor([0, 0, 1, 3, 3, 3]).cuda()
        lengths = torch.tensor([3, 1, 2]).cuda()
        ids = torch.arange(12, device="cuda").view(3, 4)
        ids[:, 1] = torch.tensor([7, 7, 8]).cuda()
        padded = torch.arange(4, device="cuda")[None] < lengths[:, None]
        print(json.dumps({
            "graphs": int(batch.max()) + 1,
            "unique": [part.tolist() for part in torch.unique(batch, return_counts=True)],
            "repeated": torch.repeat_interleave(torch.arange(3, device="cuda"), lengths).tolist(),
            "masked": ids[padded].tolist(),
            "positions": padded.nonzero().shape[0],
            "column": ids[:, 1].cpu().tolist(),
            "cast": (torch.linspace(0, 1, 5, device="cuda") * 4).long().tolist(),
            "all": bool(torch.ones(3, dtype=torch.bool, device="cuda").all()),
            "none": bool(torch.zeros(3, dtype=torch.bool, device="cuda").any()),
        }))
        """,
    )
    assert finished.output() == {
        "graphs": 4,
        "unique": [[0, 1, 3], [2, 1, 3]],
        "repeated": [0, 0, 0, 1, 2, 2],
        "masked": [0, 7, 2, 4, 8, 8],
        "positions": 6,
        "column": [7, 7, 8],
        "cast": [0, 1, 2, 3, 4],
        "all": True,
        "none": False,
    }
    assert not finished.of_kind("data_read"), "nothing was assumed"


def test_what_is_done_to_lists_of_tensors_is_done_to_each(job: Job) -> None:
    finished = tracked(
        job,
        UNKNOWN
        + """
    count, other, dark = (torch.zeros((), device="cuda") for _ in range(3))
    dark += unknown(1).sum()
    for _ in range(3):
        torch._foreach_add_([count, dark, other], 1)
    torch._foreach_add_([count, other], torch.tensor(1.0, device="cuda"), alpha=2.0)
    torch._foreach_mul_([dark, other], [2.0, 3.0])
    powers = torch._foreach_pow(0.5, [count, dark, other])
    torch._foreach_copy_([dark], [count])
    print(json.dumps([count.item(), other.item(), powers[0].item(), powers[2].item(), dark.item()]))
    """,
    )
    assert finished.output() == [5, 15, 0.5**5, 0.5**15, 5]


@pytest.mark.parametrize(
    "kept", ["torch.set_default_device('cuda')", "torch.set_default_tensor_type(torch.cuda.FloatTensor)"]
)
def test_an_optimizer_counts_its_steps_on_the_card(job: Job, kept: str) -> None:
    finished = tracked(
        job,
        f"""
        import json, torch
        torch.{kept}
        model = torch.nn.Linear(64, 64)
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(3):
            model(torch.rand(8, 64)).pow(2).mean().backward()
            optimizer.step()
        step = optimizer.state[model.weight]["step"]
        print(json.dumps([step.is_cuda, step.item()]))
        """,
    )
    assert finished.output() == [True, 3]


def test_saving_reads_nothing_that_steers(job: Job) -> None:
    finished = tracked(
        job,
        UNKNOWN
        + """
    import io
    kept = unknown(300)
    torch.save({"kept": kept, "count": torch.tensor(7).cuda()}, file := io.BytesIO())
    file.seek(0)
    print(json.dumps(torch.load(file)["count"].item()))
    """,
    )
    assert finished.output() == 7
    assert not finished.of_kind("data_read")


def test_masks_over_unknown_values_are_full_and_counts_agree_with_them(job: Job) -> None:
    finished = tracked(
        job,
        UNKNOWN
        + """
    x = unknown(4, 6).requires_grad_()
    mask = x > 0.5
    put = torch.zeros(4, 6, device="cuda")
    put[x > 0.9] = torch.ones(5, device="cuda")
    print(json.dumps({
        "selected": [x[mask].shape[0], mask.sum().item(), len(mask.nonzero()), len(torch.masked_select(x, mask))],
        "others": x[~mask].shape[0],
        "rows": list(x[x[:, 0] > 0].shape),
        "gradient": list(torch.autograd.grad(x[mask].sum(), x)[0].shape),
        "put": put.count_nonzero().item(),
    }))
    """,
    )
    assert finished.output() == {
        "selected": [24, 24, 24, 24],
        "others": 0,
        "rows": [4, 6],
        "gradient": [4, 6],
        "put": 5,
    }
    lines = {note["line"] for note in finished.of_kind("data_read") if "taken for full" in note["what"]}
    assert len(lines) == 2, "where the mask was first used as a size, and the rows"


def test_places_found_in_unknown_values_are_in_range_and_add_up(job: Job) -> None:
    found = tracked(
        job,
        UNKNOWN
        + """
    scores = unknown(64, 8)
    experts = scores.softmax(-1).topk(2).indices
    counts = torch.bincount(experts.flatten(), minlength=8)
    parts = torch.arange(128, device="cuda").split(counts.tolist())
    order = unknown(100).argsort()
    values, inverse = torch.unique(unknown(50), return_inverse=True)
    drawn = torch.multinomial(unknown(4, 1000).softmax(-1), 3)
    best = unknown(300, 300).argmax(-1)
    print(json.dumps({
        "counts": [sum(map(len, parts)), counts.min().item() > 0],
        "twice": int((experts[:, 0] == experts[:, 1]).sum()),
        "order": sorted(order.tolist()) == list(range(100)),
        "unique": [len(values), int(inverse.max()) < len(values)],
        "drawn": [len(set(row)) for row in drawn.tolist()],
        "best": 0 <= int(best.min()) <= int(best.max()) < 300,
    }))
    """,
    ).output()
    assert found == {
        "counts": [128, True],
        "twice": 0,
        "order": True,
        "unique": [50, True],
        "drawn": [3] * 4,
        "best": True,
    }


def test_checks_pass_and_a_loss_is_a_number_that_falls(job: Job) -> None:
    found = tracked(
        job,
        UNKNOWN
        + """
    import math
    from torch.distributions import Categorical, Normal
    x = unknown(8, 4)
    checks = [bool((x >= 0).all()), torch.isfinite(x).all().item(), bool((x == x).all()), torch.allclose(x * 1, x)]
    failures = [bool(torch.isnan(x).any()), bool((x < 0).any()), bool(torch.isinf(x).any())]
    Normal(x.mean(), x.std()).rsample()
    Categorical(probs=x).sample()
    losses = []
    for _ in range(3):
        losses.append(unknown(100).mean().item())
    rounds = 0
    while unknown(100).norm().item() > 1e-3:
        rounds += 1
    print(json.dumps([checks, failures, losses == sorted(losses, reverse=True), min(losses) > 0, rounds > 10]))
    """,
    ).output()
    assert found == [[True] * 4, [False] * 3, True, True, True]


@pytest.mark.parametrize("rows", [64, 2048, 16384], ids=["computed", "chosen", "only counted"])
def test_a_loop_that_draws_again_comes_to_its_end(job: Job, rows: int) -> None:
    finished = tracked(
        job,
        f"""
        import json, torch

        def truncated(x, bound):
            rounds, peak = 0, []
            while True:
                outside = (x < -bound) | (x > bound)
                if not outside.any():
                    return rounds, peak
                rounds += 1
                x = torch.where(outside, torch.randn_like(x), x)
                peak.append(torch.cuda.max_memory_allocated())

        x = torch.randn({rows}, 512, device="cuda")
        first, again = truncated(x, 0.5), truncated(x, 0.5)
        torch.nn.init.trunc_normal_(x, std=0.5, a=-1.0, b=1.0)
        kept = sum(bool((x > 0.5).any()) for _ in range(100))
        print(json.dumps([first[0], again[0], len(set(first[1][1:])), kept]))
        """,
    )
    first, again, peaks, kept = finished.output()
    assert 1 < first < 100 and 1 < again < 100
    assert rows == 64 or again < first, "the line is known by then"
    assert peaks == 1, "no round after the second takes more"
    assert kept == 100, "what ends no loop is answered as ever"


def test_a_loop_over_tokens_runs_its_bound(job: Job) -> None:
    found = tracked(
        job,
        """
        import json, torch
        embed = torch.nn.Embedding(40_000, 64, device="cuda")
        head = torch.nn.Linear(64, 40_000, device="cuda")
        ids = torch.randint(0, 40_000, (3, 5)).cuda()
        done = torch.zeros(3, dtype=torch.bool, device="cuda")
        while ids.size(1) < 30:
            logits = head(embed(ids).mean(1))
            token = torch.where(done, 0, logits.argmax(-1))
            ids = torch.cat([ids, token[:, None]], 1)
            done |= (token == 2) | torch.full((3,), ids.size(1) >= 25, device="cuda")
            if done.all():
                break
        print(json.dumps(ids.size(1)))
        """,
    ).output()
    assert found == 25, "the bound that the script itself sets"


def test_a_grad_scaler_takes_its_steps(job: Job) -> None:
    found = tracked(
        job,
        """
        import json, torch
        model = torch.nn.Linear(64, 64).cuda()
        optimizer = torch.optim.Adam(model.parameters())
        scaler = torch.amp.GradScaler("cuda")
        for _ in range(3):
            with torch.autocast("cuda", torch.float16):
                loss = model(torch.rand(8, 64).cuda()).square().mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        print(json.dumps([scaler.get_scale(), int(optimizer.state[model.weight]["step"])]))
        """,
    ).output()
    assert found == [65536.0, 3]


HARDEST = """
    import json, torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    def hardest(scores, target):  # of the pixels that have a label
        losses = nn.functional.cross_entropy(scores, target, ignore_index=255, reduction="none").flatten()
        found = losses[target.flatten() != 255].sort(descending=True).values
        return found[: len(found) // 4].mean() if len(found) else scores.new_tensor(0.0)

    data = TensorDataset(torch.rand(64, 3, 64, 64), torch.randint(0, 19, (64, 64, 64)))
    model = nn.Conv2d(3, 19, 3, padding=1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, y in DataLoader(data, 8):
        loss = hardest(model(x.cuda()), y.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(json.dumps(torch.cuda.max_memory_allocated()))
"""


def test_the_peak_is_that_of_computed_values(job: Job) -> None:
    failed = job.run(HARDEST, card=2 * GIB, steps="2")
    assert failed.exit_code == 1 and "does not require grad" in failed.stderr
    steered = job.run(HARDEST, card=2 * GIB, steps="2", VRAMFIT_VALUES="tracked")
    computed = job.run(HARDEST, card=2 * GIB, steps="2", VRAMFIT_VALUES="cpu")
    assert steered.output() == computed.output()


READS = """
    import sys, torch
    print("before")
    print("so far", file=sys.stderr)
    loss = torch.rand(4, device="cuda").sum()
    print(loss.item() >= 0)
    print((torch.rand(9, device="cuda") > 2).nonzero().shape[0])
"""


def printed_bytes(stdout: int, stderr: int) -> dict[str, int]:
    return {"stdout_bytes": stdout, "stderr_bytes": stderr}


def test_a_script_that_reads_what_steers_it_asks_for_another_run(job: Job) -> None:
    asked = job.run(READS, card=2 * GIB, VRAMFIT_RESTART="1")
    assert asked.exit_code == 0
    assert asked.stdout == "before\nTrue\n", "a number that is not whole steers nothing yet"
    (wish,) = job.folder.glob("run*/values_wanted")
    assert json.loads(wish.read_text()) == printed_bytes(len(asked.stdout), len(asked.stderr))
    again = job.run(READS, card=2 * GIB, VRAMFIT_VALUES="tracked", VRAMFIT_PRINTED=wish.read_text())
    assert (again.stdout, again.stderr) == ("0\n", ""), "what was printed is not printed twice"


def test_a_program_that_the_job_reads_through_a_pipe_says_everything_in_the_second_run_too(job: Job) -> None:
    finished = job.run(
        """
        import subprocess, sys, torch
        print("before")
        print(subprocess.check_output([sys.executable, "-c", "print('whole')"], text=True))
        """,
        card=2 * GIB,
        VRAMFIT_VALUES="tracked",
        VRAMFIT_PRINTED=json.dumps(printed_bytes(7, 0)),
    )
    assert finished.stdout == "whole\n\n", finished.stderr


ASKED = {
    "copied to pinned memory": "torch.zeros((), dtype=torch.bool, pin_memory=True).copy_(flag, non_blocking=True)",
    "copied to the host": "flag.cpu()",
    "sent to the host": "flag.to('cpu')",
    "after torch.compile": "torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2)); bool(flag)",
}


@pytest.mark.parametrize("way", ASKED)
def test_a_flag_that_the_host_gets_is_noted(job: Job, way: str) -> None:
    finished = job.run(
        f"""
        import torch
        flag = (torch.ones(4, device="cuda") * 2).max() == 2
        assert not [m for m in (torch.rand(3).cpu(), torch.rand(3, device="cuda").cpu()) if m is None]
        {ASKED[way]}
        print("ended")
        """,
        card=2 * GIB,
        VRAMFIT_VALUES="zeros",
    )
    assert finished.exit_code == 0, finished.stderr
    (read,) = [note for note in finished.of_kind("data_read") if note["line"]]
    assert read["what"].startswith("a branch") and read["is_branch"], read


@pytest.mark.parametrize("values", ["tracked", "cpu"])
@pytest.mark.parametrize("context", ["no_grad", "inference_mode"])
def test_what_autograd_does_not_take_apart_is_followed_too(job: Job, context: str, values: str) -> None:
    """In inference mode a dispatch mode meets composite operators whole: to, reshape, linear, unflatten."""
    finished = job.run(
        f"""
        import json, torch
        with torch.{context}():
            masks = torch.tensor([0, 1, 1, 0], dtype=torch.uint8).repeat(64, 640).to("cuda", dtype=torch.long)
            few = torch.nn.functional.linear(torch.ones(2, 3, device="cuda"), torch.full((4, 3), 0.5, device="cuda"))
            print(json.dumps([
                int(masks.max()), int(masks.min()), masks.reshape(-1).unique().tolist(),
                few.flatten().unflatten(0, (4, 2)).tolist(), int((masks.T.reshape(64, -1) > 0).sum()),
            ]))
        """,
        card=2 * GIB,
        VRAMFIT_VALUES=values,
    )
    assert finished.output() == [1, 0, [0, 1], [[1.5, 1.5]] * 4, 64 * 640 * 2]
    assert not finished.of_kind("data_read"), "nothing was assumed"


def test_what_only_torchscript_knows_is_asked_as_without_tracking(job: Job) -> None:
    # A view of a tensor without data asks it for its device by prim::device: compiled servers do (vLLM).
    finished = tracked(
        job,
        """
        import json, torch
        from torch._subclasses.fake_tensor import FakeTensorMode
        with FakeTensorMode():
            fake = torch.empty(4, device="cuda")
        view = fake.as_strided((2,), (1,), 0)
        ids = torch.arange(3, device="cuda")
        print(json.dumps({"device": str(view.device), "shape": list(view.shape), "sum": int(ids.sum())}))
        """,
    )
    assert finished.output() == {"device": "cuda:0", "shape": [2], "sum": 3}


@pytest.mark.parametrize("policy", ["zeros", "tracked", "cpu"])
def test_a_network_can_be_traced(job: Job, policy: str) -> None:
    finished = job.run(
        """
        import torch
        from torch import nn
        net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU()).cuda()
        traced = torch.jit.trace(net, torch.zeros(1, 3, 8, 8, device="cuda"), strict=False)
        print(tuple(traced(torch.zeros(2, 3, 8, 8, device="cuda")).shape))
        """,
        card=2 * GIB,
        VRAMFIT_VALUES=policy,
    )
    assert finished.stdout == "(2, 8, 8, 8)\n", finished.stderr
    assert not finished.of_kind("hook_failed")


# What an operator asked PyTorch's allocator for.
BLOCKS = """
    import json, torch
    memory = torch.cuda.memory
    memory._record_memory_history(context=None)
    def asked(operator):
        before = len(memory._snapshot()["device_traces"][0])
        operator()
        entries = memory._snapshot()["device_traces"][0][before:]
        return [entry["size"] for entry in entries if entry["action"] == "alloc"]
"""


def test_what_an_operator_looks_at_within_itself_is_followed(job: Job) -> None:
    """Checks pass, and sizes are those of a card; of one that only looked, from its second call on."""
    finished = tracked(
        job,
        BLOCKS
        + """
    mean = spread = torch.rand(64, device="cuda")
    mask = (torch.arange(80, device="cuda") < 16).view(8, 10)
    x = torch.rand(8, 10, device="cuda", requires_grad=True)
    rows = torch.rand(25, device="cuda", requires_grad=True)
    def scatter():
        x.masked_scatter(mask, rows).sum().backward()
    def normal():
        torch.normal(mean, spread)
    scatter(), normal()
    lengths = torch.tensor([[2, 6]]).cuda()
    exponential = torch.matrix_exp(torch.zeros(3, 2, 2, device="cuda"))
    print(json.dumps({
        "normal": asked(normal),
        "scatter": asked(scatter),
        "is_in": int(torch.isin(torch.arange(200, device="cuda"), torch.arange(90, 110, device="cuda")).sum()),
        "exponential": exponential.sum((1, 2)).cpu().tolist(),
        "segments": torch.segment_reduce(torch.rand(1, 8, device="cuda"), "sum", lengths=lengths, axis=1).shape,
    }))
    """,
    )
    seen = finished.output()
    assert seen["normal"] == [4, 1, 256, 4, 1], "whether the spread is positive, before and after"
    assert {16 * 2 * 8, 16 * 4, (25 - 16) * 4} <= set(seen["scatter"]), "places, what was taken, and the rest"
    assert seen["is_in"] == 20
    assert seen["exponential"] == [2, 2, 2]
    assert seen["segments"] == [1, 2]
    assert not finished.of_kind("data_read"), "nothing was assumed"


def test_an_operator_that_refuses_its_inputs_does_so_with_followed_values(job: Job) -> None:
    finished = tracked(
        job,
        """
        import json, torch
        x = torch.rand(4, 4, device="cuda")
        refused = []
        for call in (
            lambda: torch.ops.aten._softmax_backward_data(x, x.half(), 0, torch.float16),
            lambda: torch.stack([x, x[:2]]),
            lambda: x.index_select(0, torch.zeros(2, 2, dtype=torch.int64, device="cuda")),
        ):
            try:
                call()
            except (RuntimeError, IndexError) as error:
                refused.append(str(error).split(" ")[0])
        print(json.dumps(refused))
        """,
    )
    assert finished.output() == ["expected", "stack", "Index"], "in PyTorch's words"


def test_what_is_unique_stays_where_room_was_made_for_all(job: Job) -> None:
    finished = tracked(
        job,
        BLOCKS
        + """
    x = torch.arange(1000, device="cuda") % 10
    found = []
    def unique():
        found.extend((torch.unique(x), torch.unique_consecutive(x // 5)))
    print(json.dumps([asked(unique), [len(part) for part in found]]))
    """,
    )
    sizes, lengths = finished.output()
    assert lengths == [10, 200] and not {80, 1600} & set(sizes) and 8000 in sizes


def test_places_of_a_small_pooling_are_computed(job: Job) -> None:
    finished = tracked(
        job,
        """
        import json, torch
        from torch.nn import functional as F
        x = torch.arange(16.0, device="cuda").view(1, 1, 4, 4)
        pooled, places = F.max_pool2d(x, 2, return_indices=True)
        print(json.dumps([places.flatten().tolist(), F.max_unpool2d(pooled, places, 2).sum().item()]))
        """,
    )
    assert finished.output() == [[5, 7, 13, 15], 40]


def test_positions_lie_as_a_card_lays_them_out(job: Job) -> None:
    """Column by column: what indexes with them finds each column in one piece."""
    finished = tracked(
        job,
        """
        import json, torch
        found = (torch.arange(6, device="cuda").view(2, 3) > 2).nonzero()
        print(json.dumps([found.stride(), found.tolist()]))
        """,
    )
    assert finished.output() == [[1, 3], [[1, 0], [1, 1], [1, 2]]]
