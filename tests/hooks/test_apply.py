"""Techniques applied to scripts that know nothing of them; where results are claimed equal, they are compared."""

from __future__ import annotations

import importlib.util

import pytest
from hooked_job import Job
from small_training import assert_close, training

pytestmark = pytest.mark.by_release


def test_accumulated_micro_batches_train_as_the_whole_batch(job: Job) -> None:
    plain = job.run(training()).output()
    finished = job.run(training(), {"id": "micro_batch", "micro_batch": 2, "accumulate": 4, "loaders": [0]})
    small = finished.output()
    assert plain["shapes"] == [[8, 6]] * 4
    assert small["shapes"] == [[2, 6]] * 16
    assert small["lr"] == plain["lr"]
    assert_close(small["values"], plain["values"])
    assert finished.only("plan_applied")["id"] == "micro_batch"


@pytest.mark.parametrize("evaluation_first", [True, False])
def test_parts_of_an_evaluations_batches_are_none_of_trainings(job: Job, evaluation_first: bool) -> None:
    """A plan may have one change for each loader, in any order."""
    script = training().replace(
        "    values = {",
        """        model.eval()
        with torch.no_grad():
            for x, y in DataLoader(data, batch_size=16):
                shapes.append(list(x.shape))
                model(x)
        model.train()
    values = {""",
    )
    plain = job.run(script).output()
    plan = [
        {"id": "micro_batch", "micro_batch": 2, "accumulate": 4, "loaders": [0]},
        {"id": "micro_batch", "micro_batch": 4, "accumulate": 1, "loaders": [1]},
    ]
    finished = job.run(script, *(reversed(plan) if evaluation_first else plan))
    assert finished.of_kind("plan_refused") == []
    small = finished.output()
    assert small["shapes"] == ([[2, 6]] * 8 + [[4, 6]] * 4) * 2
    assert small["lr"] == plain["lr"]
    assert_close(small["values"], plain["values"])


def test_parts_of_batches_that_nothing_is_trained_on_are_refused(job: Job) -> None:
    """Statistics of the data may come first, from a loader of their own."""
    looks = "    shapes = []; mean = 0.0\n    for x, y in DataLoader(data, batch_size=4): mean += x.mean().item()"
    script = training().replace("    shapes = []", looks)
    finished = job.run(script, {"id": "micro_batch", "micro_batch": 2, "accumulate": 4, "loaders": [0]})
    assert "nothing is trained on the batches of data loader 1" in finished.only("plan_refused")["text"]
    finished = job.run(script, {"id": "micro_batch", "micro_batch": 2, "accumulate": 4, "loaders": [1]})
    assert finished.of_kind("plan_refused") == []


@pytest.mark.parametrize("size", [4, 5, 8, 16])
def test_batches_of_another_size_train_as_if_the_script_asked_for_them(job: Job, size: int) -> None:
    asked = job.run(training().replace("batch_size=8", f"batch_size={size}")).output()
    finished = job.run(training(), {"id": "batch_size", "batch_size": size, "loaders": [0]})
    given = finished.output()
    assert given["shapes"] == asked["shapes"]
    assert given["values"] == asked["values"]
    assert given["lr"] == asked["lr"]
    assert finished.only("plan_applied")["text"] == f"batches of {size} instead of 8"


def test_what_a_loader_drops_at_its_end_is_dropped_from_larger_batches(job: Job) -> None:
    script = training().replace("batch_size=8)", "batch_size=3, drop_last=True)")
    finished = job.run(script, {"id": "batch_size", "batch_size": 7})
    assert finished.output()["shapes"] == [[7, 6]] * 4


def test_a_batch_larger_than_the_data_is_refused(job: Job) -> None:
    finished = job.run(training(), {"id": "batch_size", "batch_size": 17})
    assert "has 16 samples, fewer than a batch" in finished.only("plan_refused")["text"]


def test_accumulation_leaves_a_script_with_a_scaler_as_it_was(job: Job) -> None:
    # On the CPU the scaler is a real one with a real scale.
    scaled = training().replace("loss.backward()", "scaler.scale(loss).backward(); scaler.unscale_(optimizer)")
    scaled = scaled.replace("            optimizer.step()", "            scaler.step(optimizer); scaler.update()")
    scaled = scaled.replace("    shapes = []", "    shapes = []; scaler = torch.amp.GradScaler('cpu', init_scale=64.0)")
    plain = job.run(scaled).output()
    small = job.run(scaled, {"id": "micro_batch", "micro_batch": 4, "accumulate": 2, "loaders": [0]}).output()
    assert_close(small["values"], plain["values"])


MISNAMED = {
    "no model of the script has a module 00; did you mean 0?": {"id": "checkpoint", "modules": ["00"]},
    "no optimizer of torch.optim takes weigth_decay; did you mean weight_decay": {
        "id": "optimizer",
        "options": {"weigth_decay": 0.1},
    },
    "torch.optim.SGD does not take momentums; did you mean momentum": {
        "id": "optimizer",
        "name": "SGD",
        "options": {"momentums": 0.5},
    },
    "this PyTorch has no torch.optim.AdamV; did you mean Adam": {"id": "optimizer", "name": "AdamV"},
    "torch.optim has no Adagradd; did you mean Adagrad": {"id": "optimizer", "name": "torch.optim.Adagradd"},
    "the script trains on data loader 0, and the plan names 5": {
        "id": "micro_batch",
        "micro_batch": 2,
        "accumulate": 4,
        "loaders": [5],
    },
}


@pytest.mark.parametrize("reason", MISNAMED)
def test_what_is_not_there_is_refused_before_the_first_step_with_what_is(job: Job, reason: str) -> None:
    finished = job.run(training().replace("optimizer.step()", "optimizer.step(); print('stepped')"), MISNAMED[reason])
    assert finished.exit_code == 3
    assert reason in finished.only("plan_refused")["text"]
    assert "stepped" not in finished.stdout


def test_a_loader_that_never_came_is_named_with_those_that_did(job: Job) -> None:
    finished = job.run(training(), {"id": "batch_size", "batch_size": 4, "loaders": [3]})
    assert finished.only("plan_refused")["text"] == "the script has no data loader 3: it came to data loader 0"


def test_another_optimizer_takes_over_the_learning_rate(job: Job) -> None:
    adam = "AdamW(model.parameters(), 0.125)"
    finished = job.run(training(optimizer=adam), {"id": "optimizer", "name": "SGD", "options": {"momentum": 0.5}})
    assert finished.output()["optimizer"] == "SGD"
    note = finished.only("optimizer")
    assert (note["class_name"], note["options"]["momentum"]) == ("SGD", 0.5)
    assert finished.output()["lr"] == pytest.approx(0.125 / 4)


def test_an_optimizer_takes_over_no_argument_that_means_something_else_to_it(job: Job) -> None:
    adam = "AdamW(model.parameters(), 0.125, eps=1e-6)"
    finished = job.run(training(optimizer=adam), {"id": "optimizer", "name": "Adafactor"})
    assert finished.output()["optimizer"] == "Adafactor"
    assert finished.only("optimizer")["options"]["eps"] == [None, 0.001]


def test_an_8_bit_optimizer_takes_over_what_the_script_gave_its_own(job: Job) -> None:
    adam = "AdamW(model.parameters(), 0.125, betas=(0.8, 0.9))"
    eight_bit = {"id": "optimizer", "name": "bitsandbytes.optim.AdamW8bit"}
    finished = job.run(training(optimizer=adam), eight_bit)
    if importlib.util.find_spec("bitsandbytes") is None:
        assert finished.exit_code == 3
        assert "Traceback" not in finished.stderr
        assert "no bitsandbytes.optim.AdamW8bit" in finished.only("plan_refused")["text"]
        return
    assert finished.output()["optimizer"] == "AdamW8bit"
    assert finished.output()["lr"] == pytest.approx(0.125 / 4)
    assert finished.only("optimizer")["options"]["betas"] == [0.8, 0.9]


def test_options_of_the_same_optimizer_do_not_change_results(job: Job) -> None:
    adam = "AdamW(model.parameters(), lr=0.01)"
    plain = job.run(training(optimizer=adam)).output()
    finished = job.run(training(optimizer=adam), {"id": "optimizer", "name": "AdamW", "options": {"foreach": False}})
    assert finished.output()["values"] == plain["values"]
    assert finished.only("optimizer")["options"]["foreach"] is False


IMAGES = """
    import json, torch
    from torch.utils.data import DataLoader, Dataset

    class Images(Dataset):
        def __len__(self): return 4
        def __getitem__(self, i):
            return {item}

    for batch in DataLoader(Images(), batch_size=2):
        print(json.dumps([[list(t.shape), str(t.dtype), t.unique().numel()] for t in batch]))
        break
"""


def test_images_and_label_maps_are_scaled_together(job: Job) -> None:
    item = "torch.rand(3, 64, 128), torch.randint(0, 5, (64, 128)), 7"
    finished = job.run(IMAGES.format(item=item), {"id": "resize_input", "scale": 0.5})
    image, labels, number = finished.output()
    assert image[:2] == [[2, 3, 32, 64], "torch.float32"]
    assert labels[:2] == [[2, 32, 64], "torch.int64"]
    assert labels[2] <= 5  # nearest: no label that was not there
    assert number[0] == [2]


def test_token_sequences_are_cut(job: Job) -> None:
    finished = job.run(
        IMAGES.format(item="torch.zeros(100, dtype=torch.long), torch.ones(5)"), {"id": "resize_input", "scale": 0.75}
    )
    tokens, other = finished.output()
    assert (tokens[0], other[0]) == ([2, 75], [2, 5])


def test_evaluation_without_no_grad_is_run_without_a_graph(job: Job) -> None:
    script = """
        import json, torch
        from torch import nn
        model = nn.Linear(4, 4)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        def step(): loss = model(torch.ones(2, 4)).sum(); loss.backward(); optimizer.step()
        def validate():
            model.eval(); out = model(torch.ones(2, 4)); model.train(); return out.requires_grad
        step(); seen = validate(); step()
        print(json.dumps([seen, torch.is_grad_enabled()]))
    """
    assert job.run(script).output() == [True, True]
    finished = job.run(script, {"id": "no_grad_validation"})
    assert finished.output() == [False, True]
    assert finished.only("plan_applied")["id"] == "no_grad_validation"


def test_allocator_settings_are_merged_with_the_users(job: Job) -> None:
    script = "import os, json, torch; print(json.dumps(os.environ['PYTORCH_CUDA_ALLOC_CONF']))"
    finished = job.run(
        script,
        {"id": "allocator", "conf": "expandable_segments:True"},
        PYTORCH_CUDA_ALLOC_CONF="max_split_size_mb:64,expandable_segments:False",
    )
    assert finished.output() == "max_split_size_mb:64,expandable_segments:True"


def test_loader_options_take_effect(job: Job) -> None:
    script = """
        import json, torch
        from torch.utils.data import DataLoader, get_worker_info
        class Data(torch.utils.data.Dataset):
            def __len__(self): return 4
            def __getitem__(self, i): return int(get_worker_info() is not None)
        loader = DataLoader(Data(), batch_size=4, num_workers=2, persistent_workers=True)
        print(json.dumps([batch.tolist() for batch in loader]))
    """
    finished = job.run(script, {"id": "loader_options", "num_workers": 0, "pin_memory": False})
    assert finished.output() == [[0, 0, 0, 0]]


def test_a_technique_that_never_found_its_place_is_a_refusal(job: Job) -> None:
    script = "import torch; m = torch.nn.Linear(2, 2); m(torch.ones(1, 2)).sum().backward()"
    finished = job.run(script, {"id": "micro_batch", "micro_batch": 2, "accumulate": 2, "loaders": [0]})
    assert finished.only("plan_refused")["id"] == "micro_batch"


def test_an_unknown_technique_and_an_unreadable_plan_are_refusals(job: Job) -> None:
    assert job.run("import torch", {"id": "magic"}).only("plan_refused")["id"] == "magic"
    finished = job.run("import torch", VRAMFIT_PLAN="/nonexistent/plan.json")
    assert finished.only("plan_refused")["id"] == "plan"


def test_what_an_error_in_training_kept_from_its_place_is_not_refused(job: Job) -> None:
    text = """
        import sys, torch
        from torch import nn
        from torch.utils.data import DataLoader
        model = nn.Linear(4, 2)
        for x in DataLoader(torch.randn(32, 4), batch_size=8, shuffle=True):
            model(x).sum().backward()
            {end}
        model.eval()
        with torch.no_grad():
            for x in DataLoader(torch.randn(32, 4), batch_size=16): model(x)
    """
    plan = ({"id": "micro_batch", "micro_batch": 4, "loaders": [1]}, {"id": "gather_on_cpu"})
    cut_off = job.run(text.format(end="raise RuntimeError('CUDA out of memory.')"), *plan)
    assert cut_off.of_kind("plan_refused") == []
    whole = job.run(text.format(end="pass"), *plan)
    assert [note["id"] for note in whole.of_kind("plan_applied")] == ["micro_batch"]
    assert [note["id"] for note in whole.of_kind("plan_refused")] == ["gather_on_cpu"]


def test_a_library_that_draws_ahead_of_the_training_is_refused(job: Job) -> None:
    """timm's PrefetchLoader does so, from site-packages; one that hands on what it drew, as tqdm does, is not
    refused."""
    text = """
        import sys, types, torch
        from torch import nn
        from torch.utils.data import DataLoader
        library = types.ModuleType("library")
        code = compile({generator!r}, "/usr/lib/python3/site-packages/library.py", "exec")
        exec(code, library.__dict__)
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x in library.draw(DataLoader(torch.randn(16, 4), batch_size=8)):
            optimizer.zero_grad()
            model(x).mean().backward()
            optimizer.step()
    """
    plan = {"id": "micro_batch", "micro_batch": 4, "accumulate": 2, "loaders": [0]}
    ahead = (
        "def draw(loader):\n last = None\n for x in loader:\n  if last is not None: yield last\n  last = x\n yield last"
    )
    finished = job.run(text.format(generator=ahead), plan)
    assert "drawn ahead of the training" in finished.only("plan_refused")["text"]
    handed_on = "def draw(loader):\n for x in loader: yield x"
    assert job.run(text.format(generator=handed_on), plan).of_kind("plan_refused") == []


def test_what_ran_out_in_its_first_forward_does_not_refuse_what_acts_in_backward(job: Job) -> None:
    text = """
        import torch
        from torch import nn
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(2):
            loss = model(torch.ones(1, 4)).sum()
            raise RuntimeError('CUDA out of memory.')
    """
    assert job.run(text, {"id": "release_gradients"}).of_kind("plan_refused") == []


def test_hooks_that_a_plan_calls_otherwise_are_told(job: Job) -> None:
    hooked = """
    import torch
    from torch import nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Linear(4, 1)).cuda()
    HOOK
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(2):
        model(torch.ones(2, 4, device="cuda")).sum().backward()
        optimizer.step(); optimizer.zero_grad()
    """
    backward = hooked.replace("HOOK", "model[1].register_full_backward_hook(lambda *_: None)")
    forward = hooked.replace("HOOK", "model[1][0].register_forward_hook(lambda *_: None)")
    fp16 = {"id": "autocast", "dtype": "float16"}
    blocks = {"id": "checkpoint", "modules": ["1"]}
    for script, plan, told in (
        (backward, fp16, ["backward hooks of modules (Sequential) see gradients times the scale"]),
        (forward, blocks, ["hooks of modules within 1 are called in both of its runs"]),
        (forward, fp16, []),
        (backward, blocks, []),
    ):
        finished = job.run(script, plan, card=4 << 30)
        effects = [note["text"] for note in finished.of_kind("plan_effect")]
        assert [effect[: len(text)] for effect, text in zip(effects, told, strict=True)] == told


def test_what_decides_of_an_effect_is_said_by_a_word_of_its_own(job: Job) -> None:
    script = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    torch.manual_seed(0)
    inputs, first, second = torch.randn(16, 6), torch.randint(0, 3, (16, 4)), torch.randint(0, 3, (16, 4))
    for i in range(16):
        first[i, : i % 4] = -100
        second[i, : i * 3 % 4] = -100
    model = nn.Sequential(nn.Linear(6, 12), NORM).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for x, a, b in DataLoader(TensorDataset(inputs, first, second), batch_size=8):
        out = model(x.cuda()).view(-1, 3)
        loss = nn.functional.cross_entropy(out, a.view(-1).cuda())
        loss = loss + nn.functional.cross_entropy(2 * out, b.view(-1).cuda())
        optimizer.zero_grad(); loss.backward(); optimizer.step()
    """
    plan = {"id": "micro_batch", "micro_batch": 2, "accumulate": 4, "loaders": [0]}
    for norm, words in (
        ("nn.BatchNorm1d(12)", ["batch_statistics", "label_weights"]),
        ("nn.BatchNorm1d(12).eval()", ["label_weights"]),
        ("nn.Dropout(0.1)", ["other", "label_weights"]),
    ):
        finished = job.run(script.replace("NORM", norm), plan, card=4 << 30, VRAMFIT_VALUES="cpu")
        assert [note["what"] for note in finished.of_kind("plan_effect")] == words, finished.stderr
