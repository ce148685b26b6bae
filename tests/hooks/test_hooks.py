"""The hooks themselves: that they are there, that they stay out of the way, and what they say."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hooked_job import STAGE, Job, variables

pytestmark = pytest.mark.by_release

GIB = 1 << 30


def test_a_process_without_torch_leaves_nothing(job: Job) -> None:
    finished = job.run("print('hello')")
    assert (finished.stdout, finished.stderr) == ("hello\n", "")
    assert (finished.notes, finished.records) == ([], [])


def test_the_users_own_sitecustomize_runs_and_our_folder_hides_nothing(job: Job) -> None:
    own = job.folder / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins; builtins.own_ran = True")
    folder = job.run_folder()
    environment = variables(folder)
    environment["PYTHONPATH"] += f":{own}"
    code = "import sys, sitecustomize; print(own_ran, sitecustomize.__file__, any('/hook' in p for p in sys.path))"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["True", str(own / "sitecustomize.py"), "False"], done.stderr


def test_phases_and_saves_are_told_apart(job: Job) -> None:
    finished = job.run("""
        import torch
        from torch import nn
        model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2))
        optimizer = torch.optim.AdamW(model.parameters())
        def train(): model.train(); model(torch.ones(2, 4)).sum().backward(); optimizer.step()
        def evaluate(): model.eval(); model(torch.ones(2, 4))
        for _ in range(2): train(); evaluate(); torch.save(model.state_dict(), "best.pt")
        print(torch.load("best.pt").keys() == model.state_dict().keys())
    """)
    assert finished.stdout == "True\n"
    assert finished.phases() == ["train", "validate", "save", "validate", "train", "validate", "save", "validate"]
    steps = [record.a for record in finished.records if record.kind == "step" and record.phase == "train"]
    assert steps == [1, 2]
    root = finished.only("root_module")
    assert (root["class_name"], root["parameters"]) == ("torch.nn.modules.container.Sequential", 30)
    optimizer = finished.only("optimizer")
    assert (optimizer["class_name"], optimizer["state_bytes"]) == ("AdamW", 2 * 30 * 4 + 4 * 4)


@pytest.mark.parametrize(
    ("norm", "before", "trains"),
    [
        ("nn.BatchNorm2d(4)", "pass", [True]),
        ("nn.BatchNorm2d(4)", "model.eval(); model(images); model.train()", [False, True]),
        ("nn.BatchNorm2d(4)", "model.train(); model[1].eval()", [False]),
        ("nn.GroupNorm(2, 4)", "model.eval(); model(images); model.train()", [False]),
        ("type('FrozenBatchNorm2d', (nn.Identity,), {})()", "pass", [False]),
    ],
)
def test_a_batch_norm_is_one_where_it_trains(job: Job, norm: str, before: str, trains: list[bool]) -> None:
    finished = job.run(
        f"""
        import torch
        from torch import nn
        model = nn.Sequential(nn.Conv2d(3, 4, 3), {norm}, nn.Conv2d(4, 2, 3)).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        images = torch.zeros(2, 3, 8, 8, device="cuda")
        {before}
        for _ in range(3):
            model(images).sum().backward(); optimizer.step()
    """,
        card=2 << 30,
    )
    assert [note["has_batch_norm"] for note in finished.of_kind("root_module")] == trains, finished.stderr


def test_a_script_that_only_evaluates_is_a_test(job: Job) -> None:
    finished = job.run("import torch; torch.nn.Linear(2, 2).eval()(torch.ones(1, 2))")
    assert finished.phases() == ["test"]


def test_an_uncaught_error_is_noted_with_the_scripts_stack(job: Job) -> None:
    finished = job.run(
        """
        import torch
        def broken(): raise ValueError("no such thing")
        broken()
    """,
        cold=True,
    )
    assert finished.exit_code == 1
    note = finished.only("error")
    assert (note["type"], note["message"]) == ("ValueError", "no such thing")
    assert note["stack"][-1]["function"] == "broken"
    assert "vramfit" not in finished.stderr


def test_an_error_in_a_loaders_worker_is_noted_by_what_it_was(job: Job) -> None:
    script = """
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Numbers(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, index):
            if index > 4:
                raise ValueError("a sample\\nthat is none")
            return torch.randn(3)

    for batch in DataLoader(Numbers(), 2, num_workers=1):
        pass
    """
    error = job.run(script).only("error")
    assert error["type"] == "ValueError"
    assert error["message"].startswith("a sample\nthat is none, in DataLoader worker process 0 (train.py:1")
    assert error["message"].endswith(" in __getitem__)")


def test_a_hook_that_fails_is_noted_and_the_job_goes_on(job: Job) -> None:
    finished = job.run("""
        import torch
        from vramfit.base import events
        def broken(module, args, kwargs): raise RuntimeError("a bug of ours")
        events.root_enter.listen(broken)
        torch.nn.Linear(2, 2)(torch.ones(1, 2))
        print("done")
    """)
    assert finished.stdout == "done\n"
    assert "a bug of ours" in finished.only("hook_failed")["message"]


def test_compiled_models_keep_whole_graphs(job: Job) -> None:
    finished = job.run("""
        import json, torch
        from torch import nn
        layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
        model = torch.compile(layers, backend="eager", fullgraph=True)
        for _ in range(3): model(torch.ones(2, 4)).sum().backward()
        from torch._dynamo.utils import counters
        print(json.dumps([counters["stats"]["unique_graphs"], len(counters["graph_break"])]))
    """)
    assert finished.output() == [1, 0]
    assert finished.of_kind("precision")[-1]["compiled"] is True


def test_marks_and_names_reach_the_recording(job: Job) -> None:
    finished = job.run("""
        import torch, vramfit
        def here(): vramfit.mark("after loading")
        here()
    """)
    (mark,) = [record for record in finished.records if record.kind == "mark"]
    assert (mark.text, mark.line) == ("after loading", "train.py:3 in here")


def test_on_a_card_blocks_carry_owner_scope_and_line(job: Job) -> None:
    finished = job.run(
        """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self): super().__init__(); self.first = nn.Linear(512, 512)
            def forward(self, x):
                return torch.relu(self.first(x))
        net = Net().cuda()
        optimizer = torch.optim.AdamW(net.parameters())
        for _ in range(2):
            optimizer.zero_grad()
            loss = net(torch.ones(512, 512, device="cuda")).sum()
            loss.backward()
            optimizer.step()
    """,
        card=8 * GIB,
    )
    assert finished.exit_code == 0, finished.stderr
    forward = [r for r in finished.records if r.kind == "alloc" and r.stage == "forward" and r.size == 1 << 20]
    assert {(r.scope, r.line) for r in forward} >= {
        ("first", "train.py:7 in Net.forward"),
        ("Net", "train.py:7 in Net.forward"),
    }
    backward = {r.line for r in finished.records if r.kind == "alloc" and r.stage == "backward"}
    assert backward == {"train.py:13 in <module>"}
    tagged = {(r.a, r.text) for r in finished.records if r.kind == "tag"}
    assert {(1, "first.weight"), (2, "first.weight"), (3, "exp_avg"), (4, "input")} <= tagged


def test_an_oom_is_noted_with_its_phase_and_the_real_message(job: Job) -> None:
    finished = job.run(
        """
        import torch
        def grab(): return torch.empty(3 << 30, dtype=torch.uint8, device="cuda")
        grab()
    """,
        card=2 * GIB,
    )
    assert finished.exit_code == 1
    note = finished.only("oom")
    assert "CUDA out of memory. Tried to allocate 3.00 GiB" in note["message"]
    assert (note["phase"], note["stack"][-1]["function"]) == ("load", "grab")
    assert [r.line for r in finished.records if r.kind == "oom"] == ["train.py:3 in grab"]


def test_the_stage_has_the_recorder_and_the_package() -> None:
    assert (STAGE / "lib" / "libvramfit_recorder.so").exists()
    assert (STAGE / "python" / "vramfit" / "hook" / "sitecustomize.py").exists()


def test_lazy_modules_are_made_in_their_first_forward_pass(job: Job) -> None:
    finished = job.run("""
        import torch
        from torch import nn
        model = nn.Sequential(nn.Linear(4, 8), nn.LazyLinear(2), nn.LazyBatchNorm1d()).to("cpu")
        model(torch.ones(3, 4))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(torch.ones(3, 4)).sum().backward()
        optimizer.step()
        print("done")
    """)
    assert (finished.stdout, finished.of_kind("hook_failed")) == ("done\n", [])


def test_blocks_of_a_wrapped_model_are_those_of_the_model(job: Job) -> None:
    """A wrapper calls the model within its own forward: the model is the root all the same, and no block of itself."""
    finished = job.run(
        """
        import torch
        from torch import nn
        inner = nn.Sequential(nn.Sequential(nn.Linear(64, 64), nn.ReLU()), nn.Sequential(nn.Linear(64, 64), nn.ReLU()))
        model = nn.DataParallel(inner).cuda()
        for _ in range(2):
            model(torch.ones(32, 64, device="cuda", requires_grad=True)).sum().backward()
        """,
        card=2 * GIB,
        steps="all",
    )
    assert finished.exit_code == 0, finished.stderr
    assert {note["name"] for note in finished.of_kind("module_memory")} == {"0", "1", "0.0", "0.1", "1.0", "1.1"}
    assert finished.only("root_module")["class_name"].endswith(".Sequential")


def test_tensors_in_lists_stay_numbers(job: Job) -> None:
    """With indexing watched, a tensor must not become a sequence to C: torch.tensor() would ask for its length."""
    finished = job.run(
        """
        import json, torch
        from torch import nn
        loss = torch.ones(3, device="cuda").sum()
        class Own(torch.Tensor): pass
        class Indexed(torch.Tensor):
            def __getitem__(self, key): return super().__getitem__(key)
        kinds = [loss, nn.Parameter(loss.detach().clone()), loss.as_subclass(Own)]
        def shapes(): return [list(torch.tensor([kind.detach(), 5]).shape) for kind in kinds]
        before = shapes()
        values = torch.arange(6.0, device="cuda")
        values[values > 2] = 0
        parts = [values[1:3].numel(), values[values < 9].dim(), len(list(values))]
        parts.append(len(values.as_subclass(Indexed)[:2]))
        torch.compile(lambda x: x + 1, backend="eager")(loss)
        print(json.dumps([before, parts, shapes(), "__getitem__" in vars(torch.Tensor)]))
        """,
        card=2 * GIB,
    )
    assert finished.output() == [[[2]] * 3, [2, 1, 6, 2], [[2]] * 3, True]  # watched again after it was traced
    lines = [note["line"] for note in finished.of_kind("data_read") if "mask" in note["what"]]
    assert len(lines) == 1 and lines[0].startswith("train.py:"), finished.notes
