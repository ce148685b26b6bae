"""Python's garbage collector: silent while large libraries are imported, and spared at the end of a run cut short."""

from __future__ import annotations

from hooked_job import Job


def test_nothing_is_collected_while_torch_is_imported_and_all_is_as_before(job: Job) -> None:
    finished = job.run(
        """
    import gc, importlib.util, json
    phases = []
    gc.callbacks.append(lambda phase, info: phases.append(phase))
    found = importlib.util.find_spec("torch")
    has_loader = found.loader.get_filename("torch") == found.origin and found.loader.is_package("torch")
    def state(): return gc.get_threshold(), gc.isenabled(), gc.get_freeze_count()
    gc.collect()  # what the search for torch makes is then far from a collection of its own
    before, begun = state(), len(phases)
    import torch
    during = len(phases) - begun
    kept = [[] for _ in range(100000)]
    print(json.dumps([has_loader, during, len(phases) > begun + during, state() == before]))
    """,
        cold=True,
    )
    assert finished.output() == [True, 0, True, True]


def test_once_a_device_is_in_use_its_garbage_goes_when_it_would(job: Job) -> None:
    for name in ("peft", "timm"):
        (job.folder / f"{name}.py").write_text("import gc\nthreshold = gc.get_threshold()[0]\n")
    finished = job.run(
        """
    import gc, json, torch, timm
    torch.ones(1, device="cuda")
    import peft
    print(json.dumps([timm.threshold, peft.threshold == gc.get_threshold()[0] > 0]))
    """,
        card=2 << 30,
        cold=True,
    )
    assert finished.output() == [0, True]


def test_a_worker_collects_nothing_pinned_of_its_parents(job: Job) -> None:
    """It can't free it, and would be ended by the attempt."""
    finished = job.run(
        """
    import gc, torch
    class Rows(torch.utils.data.Dataset):
        def __len__(self): return 4
        def __getitem__(self, index):
            gc.collect()
            return torch.ones(4)
    gc.disable()
    cycle = [torch.ones(1 << 20).pin_memory()]
    cycle[0].to("cuda", non_blocking=True)
    cycle.append(cycle)
    del cycle
    print(sum(len(batch) for batch in torch.utils.data.DataLoader(Rows(), 2, num_workers=1)))
    """,
        card=2 << 30,
    )
    assert finished.exit_code == 0, finished.stderr
    assert finished.output() == 4


LOG_IN_A_CYCLE = """
    import torch
    class Log:
        def __init__(self):
            self.file = open("log.txt", "w")
            self.me = self
    log = Log()
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(100000):
        log.file.write(f"{step}\\n")
        if step == LAST: raise ValueError("enough")
        with torch.no_grad(): model(torch.ones(1, 4))
        model(torch.ones(1, 4)).sum().backward()
        optimizer.step()
"""


def test_what_a_script_wrote_is_in_its_files_when_its_run_is_ended(job: Job) -> None:
    finished = job.run(LOG_IN_A_CYCLE.replace("LAST", "-1"), steps="auto", cold=True)
    assert finished.exit_code == 0, finished.stderr
    assert finished.of_kind("cut")[-1]["what"] == "stopped"
    assert (job.folder / "log.txt").read_text().splitlines()[:6] == [str(step) for step in range(6)]


def test_what_a_script_wrote_is_in_its_files_when_it_fails(job: Job) -> None:
    finished = job.run(LOG_IN_A_CYCLE.replace("LAST", "3"), cold=True)
    assert finished.exit_code == 1
    assert "ValueError: enough" in finished.stderr
    assert (job.folder / "log.txt").read_text() == "0\n1\n2\n3\n"


def test_a_script_that_comes_to_its_own_end_is_taken_apart_as_ever(job: Job) -> None:
    finished = job.run(
        """
    import torch
    class Thing:
        def __init__(self): self.me = self
        def __del__(self): print("gone")
    thing = Thing()
    """,
        cold=True,
    )
    assert finished.stdout == "gone\n"
