"""Random fills that are put off give the values and the generator that real ones give, whoever looks, and however."""

from __future__ import annotations

import textwrap

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

# Runs `make` with fills put off and with real ones, from one seed, and compares everything that it returns.
COMPARE = """
    import json, os, sys, torch
    from torch import nn
    from vramfit.values.host_fills.programs import fills
    library = fills.library
    def both(make):
        results = []
        for late in (True, False):
            fills.on = late
            torch.manual_seed(3)
            before = library.vramfit_host_deferred_bytes(), library.vramfit_host_filled_bytes()
            results.append((make(), torch.rand(3), torch.get_rng_state()))
            if late:
                deferred = library.vramfit_host_deferred_bytes() - before[0]
                filled = library.vramfit_host_filled_bytes() - before[1]
        fills.on = True
        flat = [list(r[0] if isinstance(r[0], (list, tuple)) else [r[0]]) + [r[1], r[2]] for r in results]
        same = len(flat[0]) == len(flat[1]) and all(
            a.dtype == b.dtype and a.shape == b.shape
            and torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8)) for a, b in zip(*flat))
        return same, deferred, filled
"""
CARD = 8 << 30

FILLS = {
    "normal": "torch.empty(1000, 1003).normal_(0.5, 2)",
    "uniform": "torch.empty(999, 1003).uniform_(-1, 3)",
    "half precision": "torch.empty(1200, 1024, dtype=torch.bfloat16).normal_(0, 0.02)",
    "double": "torch.empty(600, 1024, dtype=torch.float64).uniform_()",
    "randn": "torch.randn(4, 3, 300, 301)",
    "rand with a generator": "torch.rand((700, 700), generator=torch.Generator().manual_seed(9))",
    "truncated normal": "nn.init.trunc_normal_(torch.empty(800, 700), std=0.02)",
    "kaiming": "nn.Linear(1500, 700).weight.detach()",
    "embedding with padding": "nn.Embedding(2000, 600, padding_idx=7).weight.detach()",
    "cast": "nn.Linear(1500, 900, bias=False).to(torch.bfloat16).weight.detach()",
    "cast of what was changed": "nn.Embedding(2000, 600, padding_idx=7).half().weight.detach()",
    "copy that was asked for": "torch.randn(900, 900).to(torch.float16, copy=True)",  # bitsandbytes asks so
    "filled twice": "nn.init.normal_(nn.Linear(1500, 700).weight.detach(), std=0.1)",
    "a part changed by hand": "torch.randn(800, 900)[3:5].mul_(2.0)",
}


@pytest.mark.parametrize("values", ["zeros", "tracked"])
@pytest.mark.parametrize("name", FILLS)
def test_values_and_generator_are_as_drawn(job: Job, name: str, values: str) -> None:
    script = COMPARE + f"    print(json.dumps(both(lambda: {FILLS[name]})))\n"
    finished = job.run(script, card=CARD, VRAMFIT_VALUES=values)
    same, deferred, filled = finished.output()
    assert not finished.of_kind("hook_failed")
    assert same
    assert deferred >= 1 << 20  # it was put off ...
    assert filled >= 1 << 20  # ... and looked at by the comparison


READERS = {
    "an operator of many threads": "(a @ a.T).sum()[None]",
    "numpy": "torch.from_numpy(a.numpy().copy())",
    "a file by torch.save": "(torch.save(a, 'a.pt'), torch.load('a.pt'))[1]",
    "a file by numpy": "(a.numpy().tofile('a.bin'), torch.from_file('a.bin', size=a.numel()))[1]",
    "write()": "(os.write(os.open('b.bin', os.O_CREAT | os.O_WRONLY), a.numpy()), "
    "torch.from_file('b.bin', size=a.numel()))[1]",
    "a forked child": "fork(a)",
    "a thread": "thread(a)",
    "a pipe": "pipe(a)",
}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_sees_the_values(job: Job, name: str) -> None:
    finished = job.run(
        COMPARE
        + f"""
    import faulthandler; faulthandler.enable()  # a handler of the script's own
    import threading
    def fork(a):
        file = torch.zeros(a.numel()); file.share_memory_()
        child = os.fork()
        if child == 0: file.copy_(a.flatten()); os._exit(0)
        os.waitpid(child, 0)
        return file
    def thread(a):
        out = []
        workers = [threading.Thread(target=lambda: out.append(a.clone())) for _ in range(4)]
        for worker in workers: worker.start()
        for worker in workers: worker.join()
        return out
    def pipe(a):
        r, w = os.pipe()
        worker = threading.Thread(target=lambda: (os.write(w, a.numpy().reshape(-1)[:9000]), os.close(w)))
        worker.start()
        with os.fdopen(r, "rb") as file: data = file.read()
        worker.join()
        return torch.frombuffer(bytearray(data), dtype=torch.float32)
    def make():
        a = torch.empty(600, 1000).normal_()
        return {READERS[name]}
    print(json.dumps(both(make)))
    """,
        card=CARD,
    )
    same, deferred, filled = finished.output()
    assert same
    assert deferred >= 1 << 20
    assert filled >= 1 << 20 or name == "a forked child"  # there the child's copy is filled


@pytest.mark.parametrize("values", ["zeros", "tracked"])
def test_weights_that_only_go_to_the_card_are_never_drawn(job: Job, values: str) -> None:
    finished = job.run(
        COMPARE
        + """
    def make():
        model = nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(8))).to(torch.bfloat16).cuda()
        model(torch.ones(2, 1024, dtype=torch.bfloat16, device="cuda")).sum().backward()
        return torch.ones(1)
    nn.Linear(1024, 1024)  # the first of its kind is compared with a real one
    print(json.dumps(both(make)))
    """,
        card=CARD,
        VRAMFIT_VALUES=values,
    )
    same, deferred, filled = finished.output()
    assert same
    assert deferred >= 8 << 21
    assert filled == 0
    assert not finished.of_kind("hook_failed")


def test_a_real_fault_still_ends_the_process(job: Job) -> None:
    finished = job.run(
        """
    import ctypes, torch
    torch.empty(1000, 1000).normal_()
    ctypes.string_at(16)
    """,
        card=CARD,
        cold=True,
    )
    assert finished.exit_code == -11


# Each prints true where torch.rand and torch.randn are what they are without us.
FACTORIES = {
    "with a device": """
        def devices():
            return {make(size).device.type for make in (torch.rand, torch.randn) for size in (3, 600_000)}
        with torch.device("cuda"):
            inside = devices()
        print(json.dumps(inside == {"cuda"} and devices() == {"cpu"}))
    """,
    "a default device": """
        torch.set_default_device("cuda")
        print(json.dumps(torch.rand(3).is_cuda and torch.randn(3).is_cuda and nn.Linear(2, 2).weight.is_cuda))
    """,
    "a default type": """
        torch.set_default_tensor_type("torch.cuda.FloatTensor")
        print(json.dumps(torch.rand(3).is_cuda and torch.randn(600_000).is_cuda))
    """,
    "asked for by name": """
        seen = []
        class Watch(torch.overrides.TorchFunctionMode):
            def __torch_function__(self, function, types, args=(), kwargs=None):
                seen.append(function)
                return function(*args, **(kwargs or {}))
        with Watch():
            torch.rand(3), torch.randn(600_000)
        print(json.dumps(torch.rand in seen and torch.randn in seen))
    """,
    "scripted": """
        @torch.jit.script
        def noisy(x):
            return x + torch.rand(3) + torch.randn([3])
        print(json.dumps(noisy(torch.zeros(3)).shape == (3,)))
    """,
    "memory of the card": """
        made = torch.randn(1024, 1024, device="cuda") + 0 * torch.rand(1, device="cuda")
        del made
        torch.cuda.reset_peak_memory_stats()
        made = torch.randn(1024, 1024, device="cuda")
        print(json.dumps(torch.cuda.max_memory_allocated() == made.nbytes))
    """,
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_are_still_torchs_own(job: Job, name: str) -> None:
    script = textwrap.dedent(FACTORIES[name])
    (job.folder / "own.py").write_text("import json, torch\nfrom torch import nn\n" + script)
    finished = job.run("import runpy\nrunpy.run_path('own.py')\n", card=CARD)
    assert not finished.of_kind("hook_failed")
    assert finished.output() is True
