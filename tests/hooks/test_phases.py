"""Phases: an evaluation is one, and a forward without gradients inside a training step is none."""

from __future__ import annotations

import pytest
from hooked_job import Finished, Job

pytestmark = pytest.mark.by_release

SETUP = """
    import copy, torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    def net(): return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    model = net()
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(TensorDataset(torch.ones(12, 4)), 4)
    def learn(loss): optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


def phases_of(finished: Finished) -> set[str]:
    """The phases that the recording has; a change of phase that was corrected says `train` twice."""
    assert finished.exit_code == 0, finished.stderr
    assert not finished.of_kind("hook_failed")
    return set(finished.phases())


def test_a_reference_model_inside_the_step_is_training(job: Job) -> None:
    finished = job.run(
        SETUP
        + """
    reference = copy.deepcopy(model).eval().requires_grad_(False)
    for (x,) in loader:
        with torch.no_grad(): wanted = reference(x)
        learn((model(x) - wanted).square().mean())
    """
    )
    assert phases_of(finished) == {"train"}
    assert not finished.of_kind("evaluation")


def test_pseudo_labels_of_the_trained_model_are_training(job: Job) -> None:
    """It is in eval mode and runs without gradients, but a backward pass on the same batch follows."""
    finished = job.run(
        SETUP
        + """
    for epoch in range(2):
        for (x,) in DataLoader(loader.dataset, 4, shuffle=True):
            model.eval()
            with torch.no_grad(): wanted = model(x).argmax(1)
            model.train()
            learn(nn.functional.cross_entropy(model(x), wanted))
    """
    )
    assert phases_of(finished) == {"train"}
    assert not finished.of_kind("evaluation")
    assert [note["phase"] for note in finished.of_kind("loader")][-1] == "train"


def test_a_network_that_trains_in_eval_mode_is_training_from_its_first_forward(job: Job) -> None:
    finished = job.run(SETUP + "    model.eval()\n    for (x,) in loader: learn(model(x).mean())\n")
    assert phases_of(finished) == {"train"}


def test_target_networks_and_actions_without_a_loader_are_training(job: Job) -> None:
    finished = job.run(
        SETUP
        + """
    target = copy.deepcopy(model)
    for step in range(6):
        with torch.no_grad():
            action = model(torch.ones(1, 4)).argmax()
            future = target(torch.ones(4, 4)).max(1).values
        learn((model(torch.ones(4, 4)).max(1).values - future).square().mean())
    """
    )
    assert phases_of(finished) == {"train"}


def test_evaluations_stay_evaluations(job: Job) -> None:
    finished = job.run(
        SETUP
        + """
    held_out = DataLoader(TensorDataset(torch.ones(8, 4)), 4)
    for epoch in range(2):
        model.train()
        for (x,) in DataLoader(loader.dataset, 4, shuffle=True): learn(model(x).mean())
        model.eval()
        with torch.no_grad():
            for (x,) in held_out: model(x)
    """
    )
    assert finished.phases() == ["train", "validate", "train", "validate"]
    assert finished.only("evaluation")["gradients"] is False


def test_an_evaluation_between_steps_without_a_loader(job: Job) -> None:
    """nanoGPT's: the model alone says what it is, by its mode."""
    finished = job.run(
        SETUP
        + """
    @torch.no_grad()
    def estimate_loss():
        model.eval()
        for _ in range(3): model(torch.ones(4, 4))
        model.train()
    for step in range(4):
        if step % 2 == 0: estimate_loss()
        learn(model(torch.ones(4, 4)).mean())
    """
    )
    assert finished.phases() == ["validate", "train", "validate", "train"]


def test_an_evaluation_that_keeps_its_graph_stays_one(job: Job) -> None:
    finished = job.run(
        SETUP
        + """
    for step in range(3):
        learn(model(torch.ones(4, 4)).mean())
        model.eval()
        model(torch.ones(4, 4))
        model.train()
    """
    )
    assert finished.phases() == ["train", "validate"] * 3
    assert finished.only("evaluation")["gradients"] is True


def test_optimizers_stepped_inside_backward_make_one_step(job: Job) -> None:
    """One optimizer a parameter, as torchtune and LOMO-like loops have it."""
    finished = job.run(
        SETUP
        + """
    optimizers = {p: torch.optim.SGD([p], 0.1) for p in model.parameters()}
    def hook(p): optimizers[p].step(); optimizers[p].zero_grad()
    for p in model.parameters(): p.register_post_accumulate_grad_hook(hook)
    for epoch in range(2):
        for (x,) in loader: model(x).mean().backward()
    """
    )
    assert phases_of(finished) == {"train"}
    assert [record.a for record in finished.records if record.kind == "step"] == [1, 2, 3, 4, 5, 6]


def test_such_a_loop_is_cut_like_others(job: Job) -> None:
    finished = job.run(
        SETUP
        + """
    optimizers = {p: torch.optim.SGD([p], 0.1) for p in model.parameters()}
    def hook(p): optimizers[p].step(); optimizers[p].zero_grad()
    for p in model.parameters(): p.register_post_accumulate_grad_hook(hook)
    steps = 0
    for (x,) in DataLoader(TensorDataset(torch.ones(400, 4)), 4, shuffle=True):
        model(x).mean().backward(); steps += 1
    print(steps)
    """,
        steps="auto",
    )
    assert finished.output() == 4


def test_a_librarys_inference_inside_an_evaluation_is_no_test(job: Job) -> None:
    """MONAI's sliding_window_inference(), called by a loop that validates."""
    package = job.folder / "site-packages"
    package.mkdir(exist_ok=True)
    (package / "windows.py").write_text("def sliding_window_inference(x, model): return model(x)\n")
    finished = job.run(
        SETUP
        + """
    import sys
    sys.path.insert(0, "site-packages")
    from windows import sliding_window_inference
    for epoch in range(2):
        model.train()
        for (x,) in loader: learn(model(x).mean())
        model.eval()
        with torch.no_grad(): sliding_window_inference(torch.ones(6, 4), model)
    """
    )
    assert phases_of(finished) == {"train", "validate"}


def test_a_model_whose_parameters_are_spread_is_one(job: Job) -> None:
    """DeepSpeed's ZeRO 3 leaves them empty outside of their module's forward, and says how large they are."""
    finished = job.run(
        SETUP
        + """
    class Spread(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.empty(0))
            self.weight.ds_numel = 8
        def forward(self, x):
            self.weight.data = torch.ones(4, 2)
            out = x @ self.weight
            self.weight.data = torch.empty(0)
            return out
    spread = Spread().eval()
    def validate(x):
        with torch.no_grad(): spread(x)
    learn(model(loader.dataset[0][0]).mean())
    validate(torch.ones(3, 4))
    """
    )
    assert phases_of(finished) == {"train", "validate"}
