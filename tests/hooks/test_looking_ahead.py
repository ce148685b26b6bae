"""The largest batch of a loader is found beside the run, and run; the job's own data is not touched."""

from __future__ import annotations

from hooked_job import Finished, Job

DATA = """
    import json, os, random, time, torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset
    class Texts(Dataset):
        def __init__(self, n, long, path): self.n, self.long, self.file = n, long, open(path, "rb")
        def __len__(self): return self.n
        def __getitem__(self, i):
            self.file.seek(i); byte = self.file.read(1)   # a position that a second reader would move
            assert byte == bytes([i % 251]), "the position was moved"
            return torch.ones(900 if i == self.long else 10 + random.randrange(3))
    def padded(samples): return nn.utils.rnn.pad_sequence(samples, batch_first=True)
    with open("data", "wb") as file: file.write(bytes(i % 251 for i in range(20000)))
    model = nn.Linear(1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    seen = []
    def train_on(x):
        seen.append(x.shape[-1]); time.sleep(0.001)
        optimizer.zero_grad(); model(x.unsqueeze(-1)).sum().backward(); optimizer.step()
    def end_when_answered():
        # However long the looker takes on this machine, the budget is used a few batches after its answer.
        from vramfit.steer import looking_ahead
        from vramfit.steer.cut import cutter
        known = looking_ahead._state.known.get(0)
        if known is not None and known.answer is not None and len(seen) > 8 and known.largest is None:
            cutter.budget.seconds = 0.001
"""


def run(job: Job, text: str, **extra: str) -> Finished:
    return job.run(DATA + text, steps="auto", VRAMFIT_RUN_ON="100", **extra)


def test_the_one_long_sample_of_many_is_found_and_trained_on(job: Job) -> None:
    finished = run(
        job,
        """
    random.seed(1)
    torch.manual_seed(1)
    loader = DataLoader(Texts(20000, 17123, "data"), 4, shuffle=True, collate_fn=padded)
    while True:
        for x in loader:
            train_on(x)
            end_when_answered()
        if seen[-1] and len(seen) > 20 and max(seen) == 900: break
    print(json.dumps(max(seen)))
    """,
    )
    assert finished.output() == 900
    looked = finished.only("looked")
    assert looked["differ"] and looked["of"] == 20000 and looked["samples"] == 20000


def test_the_random_state_is_that_of_a_run_without_it(job: Job) -> None:
    text = """
    random.seed(1)
    torch.manual_seed(1)
    lengths = []
    for x in DataLoader(Texts(200, 19999, "data"), 4, shuffle=True, collate_fn=padded):
        train_on(x); lengths.append(x.shape[1])
    print(json.dumps([lengths, random.random(), torch.rand(1).item()]))
    """
    assert run(job, text).output() == job.run(DATA + text).output()


def test_samples_of_one_size_are_no_reason_to_doubt(job: Job) -> None:
    finished = run(
        job,
        """
    class Same(Dataset):
        def __len__(self): return 3000
        def __getitem__(self, i): return torch.ones(8)
    loader = DataLoader(Same(), 4)
    for _ in range(1000):
        for x in loader:
            train_on(x)
            end_when_answered()
            if len(seen) % 700 == 0: break
    """,
    )
    assert finished.exit_code == 0, finished.stderr
    assert not finished.only("looked")["differ"]
    assert not any("samples" in note["text"] for note in finished.of_kind("open"))


def test_a_data_set_that_writes_files_writes_none_for_it(job: Job) -> None:
    finished = run(
        job,
        """
    class Caching(Dataset):
        def __len__(self): return 3000
        def __getitem__(self, i):
            with open(f"cache.{os.getpid()}", "a") as file: file.write("x")
            return torch.ones(8)
    loader = DataLoader(Caching(), 4)
    for x in loader:
        train_on(x)
        end_when_answered()
    print(json.dumps([name for name in os.listdir() if name.startswith("cache.") and name != f"cache.{os.getpid()}"]))
    """,
    )
    assert finished.output() == []
