"""Passes cut short, and runs that end by themselves, in scripts of several shapes."""

from __future__ import annotations

from hooked_job import Job

GIB = 1 << 30

DATA = """
    import json, torch
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, IterableDataset
    class Data(Dataset):
        def __init__(self, n): self.n = n
        def __len__(self): return self.n
        def __getitem__(self, i):
            print("read", flush=True)
            return torch.ones(4), i % 2
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    def train_on(x, y):
        optimizer.zero_grad(); nn.functional.cross_entropy(model(x), y).backward(); optimizer.step()
    def validate(loader):
        model.eval()
        with torch.no_grad(): seen = [len(model(x)) for x, _ in loader]
        model.train()
        return len(seen)
"""


def test_a_pass_gets_a_few_batches_and_keeps_its_length(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    train, val = DataLoader(Data(1000), 10, shuffle=True), DataLoader(Data(500), 10)
    count = 0
    for x, y in train: train_on(x, y); count += 1
    print(json.dumps([count, len(train), validate(val)]))
    """,
        steps="auto",
    )
    assert finished.output() == [4, 100, 3]
    assert finished.stdout.count("read") == 70  # and not one sample more was read
    assert [note["text"] for note in finished.of_kind("cut")] == [
        "each pass over data loader 1 was cut to 4 batches of 100",
        "each pass over data loader 2 was cut to 3 batches of 50",
    ]
    loaders = {note["ordinal"]: note for note in finished.of_kind("loader")}
    assert [loaders[i]["phase"] for i in (0, 1)] == ["train", "validate"]
    assert loaders[0]["shapes"][0] == [10, 4]


def test_workers_read_no_more_than_the_pass_gets(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    for _ in range(2):
        loader = DataLoader(Data(1000), 5, shuffle=True, num_workers=2, persistent_workers=True)
        print("batches", [sum(1 for x, y in loader if train_on(x, y) is None) for _ in range(2)])
    """,
        steps="auto",
    )
    assert finished.exit_code == 0, finished.stderr
    assert finished.stdout.count("batches [4, 4]") == 1
    assert finished.stdout.count("read") <= 4 * 4 * 5


def test_a_number_keeps_that_many_and_all_keeps_everything(job: Job) -> None:
    script = (
        DATA
        + """
    print(json.dumps(sum(1 for _ in DataLoader(Data(40), 5))))
    """
    )
    assert job.run(script, steps="2").output() == 2
    finished = job.run(script, steps="all")
    assert finished.output() == 8
    assert finished.of_kind("cut") == []


def test_a_pass_goes_on_until_the_script_comes_to_its_optimizer_steps(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    count = 0
    for i, (x, y) in enumerate(DataLoader(Data(1000), 5, shuffle=True)):
        nn.functional.cross_entropy(model(x), y).backward(); count += 1
        if i % 8 == 7: optimizer.step(); optimizer.zero_grad()
    print(json.dumps(count))
    """,
        steps="auto",
    )
    assert 16 <= finished.output() <= 18


def test_an_iterable_dataset_is_cut_too(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    class Stream(IterableDataset):
        def __iter__(self):
            while True: yield torch.ones(4)
    print(json.dumps(sum(1 for _ in DataLoader(Stream(), 5))))
    """,
        steps="auto",
    )
    assert finished.output() == 3


def test_a_long_training_ends_once_rounds_repeat(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    for epoch in range(10000):
        for x, y in DataLoader(Data(1000), 5, shuffle=True): train_on(x, y)
        validate(DataLoader(Data(100), 5))
        print("epoch", epoch, flush=True)
    print("never reached")
    """,
        steps="quick",
    )
    assert finished.exit_code == 0, finished.stderr
    assert finished.stdout.count("epoch") == 2
    assert "never reached" not in finished.stdout
    assert "steady after 2 rounds" in finished.of_kind("cut")[-1]["text"]
    assert finished.phases()[:4] == ["train", "validate", "train", "validate"]


def test_a_short_training_runs_to_its_end_with_what_comes_after_it(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    for epoch in range(6):
        for x, y in DataLoader(Data(1000), 5, shuffle=True): train_on(x, y)
    def test(): return validate(DataLoader(Data(100), 5))
    print(json.dumps(test()))
    """,
        steps="auto",
    )
    assert finished.output() == 1
    assert finished.phases() == ["train", "test"]


EPOCHS = """
    def train(epochs, **options):
        for epoch in range(epochs):
            print("epoch", flush=True)
            for x, y in DataLoader(data, 5, shuffle=True, **options):
                print("shape", tuple(x.shape), flush=True)
                train_on(x, y)
                x.data, y.data = x.data[:2], y.data[:2]
            print("scored", validate(validation))
    data, validation = Data(1000), DataLoader(Data(100), 5)
"""


def test_coasting_reads_every_fourth_pass_when_batches_are_alike(job: Job) -> None:
    finished = job.run(DATA + EPOCHS + "    train(14)", steps="auto")
    assert finished.exit_code == 0, finished.stderr
    epochs = finished.stdout.split("epoch\n")[1:]
    assert len(epochs) == 14
    reads = [epoch.count("read") for epoch in epochs]
    assert reads == [35, 35, 0, 0, 0, 10, 0, 0, 0, 10, 0, 0, 0, 10]
    assert all(epoch.count("shape (5, 4)") == 1 and "scored 1" in epoch for epoch in epochs[2:])


def test_coasting_reads_every_pass_when_batches_differ(job: Job) -> None:
    finished = job.run(
        DATA
        + EPOCHS
        + """
    import itertools
    lengths = itertools.cycle((5, 7))
    def cut_to_length(samples):
        length = next(lengths)
        return torch.ones(length, 4), torch.zeros(length, dtype=torch.long)
    train(8, collate_fn=cut_to_length)
    """,
        steps="auto",
    )
    assert finished.exit_code == 0, finished.stderr
    reads = [epoch.count("read") for epoch in finished.stdout.split("epoch\n")[1:]]
    assert reads == [35, 35, 5, 5, 5, 10, 5, 5]


def test_a_pass_that_reads_nothing_ends_with_its_loader_and_starts_no_workers(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    data = Data(30)
    def tell(number): print("worker", flush=True)
    for epoch in range(5):
        print("epoch", flush=True)
        loader = DataLoader(data, 5, shuffle=True, num_workers=1, worker_init_fn=tell)
        batches = iter(loader)
        count = 0
        for i, (x, y) in enumerate(batches):
            nn.functional.cross_entropy(model(x), y).backward(); count += 1
            if epoch < 2: optimizer.step()
        print("batches", count, len(batches), flush=True)
        del batches
    """,
        steps="auto",
    )
    assert finished.exit_code == 0, finished.stderr
    epochs = finished.stdout.split("epoch\n")[1:]
    assert [epoch.split("batches ")[1] for epoch in epochs] == ["4 6\n", "4 6\n", "6 6\n", "6 6\n", "6 6\n"]
    assert [epoch.split("batches ")[0].count("worker") for epoch in epochs] == [1, 1, 0, 0, 0]


def test_pinned_batches_that_are_kept_are_left_alone_in_the_workers(job: Job) -> None:
    """A worker that frees what its parent pinned dies of it: it can't use the parent's device."""
    finished = job.run(
        DATA
        + """
    model = model.cuda()
    for epoch in range(6):
        for shuffled in (True, False):
            loader = DataLoader(Data(100), 10, shuffle=shuffled, num_workers=1, pin_memory=True)
            for x, y in loader:
                if shuffled: train_on(x.cuda(), y.cuda())
                else: validate([(x.cuda(), y)])
    print(json.dumps(epoch))
    """,
        steps="auto",
        card=2 << 30,
    )
    assert finished.output() == 5
    assert "pinned" not in finished.stderr


def test_a_hand_written_loop_ends_once_it_is_steady_and_has_evaluated(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    x, y = torch.ones(3, 4), torch.zeros(3, dtype=torch.long)
    for step in range(100000):
        if step % 1000 == 0:
            model.eval()
            with torch.no_grad(): model(x)
            model.train()
        train_on(x, y)
    """,
        steps="auto",
        timeout=60,
    )
    assert finished.exit_code == 0, finished.stderr
    assert "steady over 6 optimizer steps" in finished.of_kind("cut")[-1]["text"]


def test_a_loop_over_one_batch_of_a_loader_ends_too(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    x, y = next(iter(DataLoader(Data(100), 5)))
    while True: train_on(x, y)
    """,
        steps="auto",
        timeout=60,
    )
    assert finished.exit_code == 0, finished.stderr
    assert finished.of_kind("cut")[-1]["what"] == "stopped"


def test_a_whole_evaluation_counts_every_sample_and_reads_few(job: Job) -> None:
    script = (
        DATA
        + """
    train, val = DataLoader(Data(100), 10, shuffle=True), DataLoader(Data(95), 10)
    for x, y in train: train_on(x, y)
    seen = 0
    with torch.no_grad():
        for batch in val:
            x, y = batch
            batch.clear()
            model(x)
            seen += len(y)
    print(json.dumps(seen))
    if seen != 95: raise ValueError("not all of it")
    """
    )
    cut = job.run(script, steps="auto")
    assert cut.exit_code == 1
    assert [note["after_cut"] for note in cut.of_kind("error")] == [True]
    whole = job.run(script, steps="auto", VRAMFIT_EVALUATION="whole")
    assert whole.exit_code == 0, whole.stderr
    assert whole.output() == 95
    assert whole.stdout.count("read") == 70
    assert [note["what"] for note in whole.of_kind("cut")][:2] == ["loader", "repeated"]


def test_an_evaluation_that_gathers_on_the_card_is_followed(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    model = model.cuda()
    big = DataLoader(Data(200), 10)
    with torch.no_grad():
        kept = [model(x.cuda()).new_empty(1 << 20) for x, _ in big]
        counts = [len(kept), sum(1 for x, _ in big if model(x.cuda()) is not None)]
    print(json.dumps(counts))
    """,
        steps="auto",
        card=2 << 30,
    )
    assert finished.exit_code == 0, finished.stderr
    assert finished.output() == [20, 3]
    assert finished.stdout.count("read") == 60


def test_a_loss_and_a_transform_are_no_steps_of_an_evaluation(job: Job) -> None:
    finished = job.run(
        DATA
        + """
    loss, scale = nn.CrossEntropyLoss(), nn.Softplus()
    second = nn.Linear(4, 2)
    for x, y in DataLoader(Data(40), 10, shuffle=True): train_on(scale(x), y)
    with torch.no_grad():
        for x, y in DataLoader(Data(20), 10): loss(model(scale(x)), y), second(x)
    """,
    )
    assert finished.exit_code == 0, finished.stderr
    steps = [(record.phase, record.a) for record in finished.records if record.kind == "step"]
    assert steps == [*(("train", number) for number in range(1, 5)), ("validate", 1), ("validate", 2)]


def test_an_engine_that_answers_its_parent_is_not_ended(job: Job) -> None:
    finished = job.run(
        """
        import multiprocessing, time, torch

        def serve(pipe):
            model, asked = torch.nn.Linear(8, 8).cuda(), time.monotonic()
            while time.monotonic() - asked < 2:
                model(torch.ones(1, 8, device="cuda"))
            pipe.send("answered")

        ours, theirs = multiprocessing.Pipe()
        engine = multiprocessing.get_context("fork").Process(target=serve, args=(theirs,), daemon=True)
        engine.start()
        theirs.close()
        print(ours.recv())
        engine.join()
        """,
        card=2 * GIB,
        steps="auto",
        VRAMFIT_RUN_ON="1",
    )
    assert finished.stdout == "answered\n", finished.stderr
    assert not [note for note in finished.of_kind("cut") if note["what"] == "stopped"]
