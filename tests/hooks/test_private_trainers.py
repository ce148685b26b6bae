"""Trainers of a release that has elsewhere what their documentation does not promise: scripts end as ever."""

from __future__ import annotations

import importlib.util

import pytest
from hooked_job import Finished, Job


def needs(package: str) -> pytest.MarkDecorator:
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"this environment has no {package}")


HIDING = """
from collections.abc import Mapping
from vramfit.private import lightning as of_lightning, names, transformers as of_trainer
def hide(file, *wanted):
    for each in list(vars(file).values()):
        for name in each.values() if isinstance(each, Mapping) else [each]:
            if isinstance(name, (names.Name, names.Attribute)) and (not wanted or name.name in wanted):
                if isinstance(name, names.Attribute):
                    name.name = "gone_" + name.name
                name.paths = tuple(path.rpartition(":")[0] + ":gone_" + path.rpartition(":")[2] for path in name.paths)
"""

LIGHTNING = """
import logging, warnings
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
import lightning, torch
from torch.utils.data import DataLoader
class Task(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)
    def training_step(self, batch, index):
        return self.net(batch).square().mean()
    def validation_step(self, batch, index):
        self.net(batch)
    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        rates = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": rates, "interval": "step", "frequency": 2}}
trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False, val_check_interval=0.5,
                            num_sanity_val_steps=0)
batches = lambda: DataLoader(torch.rand(64, 4), batch_size=8)
trainer.fit(Task(), batches(), batches())
print("trained")
"""

MICRO_BATCH = {"id": "micro_batch", "micro_batch": 2, "accumulate": 4, "loaders": [0]}


def gone(finished: Finished) -> set[str]:
    """Names that were told, each with what is lost."""
    notes = finished.of_kind("name_gone")
    assert all(note["lost"] for note in notes)
    return {note["name"].removeprefix("gone_") for note in notes}


@needs("lightning")
@pytest.mark.parametrize(("steps", "techniques"), [("auto", ()), ("all", (MICRO_BATCH,))])
def test_names_of_lightning_are_all_there(job: Job, steps: str, techniques: tuple[dict, ...]) -> None:
    finished = job.run(LIGHTNING, *techniques, steps=steps, timeout=300)
    assert finished.stdout.endswith("trained\n"), finished.stderr
    assert gone(finished) == set()
    assert finished.of_kind("hook_failed") == []
    assert ("its training to 2 epochs, its evaluations to 3 batches" in str(finished.of_kind("cut"))) == (
        steps == "auto"
    )


@needs("lightning")
@pytest.mark.parametrize(
    ("hidden", "techniques"),
    [
        (("max_batches",), (MICRO_BATCH,)),
        (("trainer", "lr_scheduler_configs", "lightning_module"), (MICRO_BATCH,)),
        (("fit_loop", "callbacks", "limit_train_batches", "val_check_interval"), ()),
    ],
    ids=["batches in parts", "schedulers in parts", "cut"],
)
def test_a_name_of_lightnings_that_is_gone_is_told_and_the_script_ends(
    job: Job, hidden: tuple[str, ...], techniques: tuple[dict, ...]
) -> None:
    script = f"{HIDING}hide(of_lightning, *{hidden!r})\n{LIGHTNING}"
    finished = job.run(script, *techniques, steps="auto", cold=True, timeout=300)
    assert finished.stdout.endswith("trained\n"), finished.stderr
    assert gone(finished) == set(hidden)
    assert finished.of_kind("hook_failed") == []


@needs("lightning")
def test_without_all_names_of_lightning_a_script_ends_as_ever(job: Job) -> None:
    finished = job.run(f"{HIDING}hide(of_lightning)\n{LIGHTNING}", steps="auto", cold=True, timeout=300)
    assert finished.stdout.endswith("trained\n"), finished.stderr
    assert len(gone(finished)) > 25
    assert finished.of_kind("hook_failed") == []


@needs("lightning")
def test_lightning_that_accumulates_otherwise_gets_no_parts_of_batches(job: Job) -> None:
    script = f"{HIDING}hide(of_lightning, 'accumulate_grad_batches')\n{LIGHTNING}"
    finished = job.run(script, MICRO_BATCH, cold=True, timeout=300)
    assert "has the steps that it accumulates elsewhere" in finished.only("plan_refused")["text"]
    assert gone(finished) == {"accumulate_grad_batches"}


HUGGING_FACE = """
import torch
from transformers import Trainer, TrainingArguments
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Linear(4, 1)
    def forward(self, x):
        return {"loss": self.net(x).square().mean()}
arguments = TrainingArguments("out", per_device_train_batch_size=8, max_steps=9, use_cpu=True, report_to=[],
                              save_strategy="no", disable_tqdm=True)
trainer = Trainer(Net(), arguments, train_dataset=[{"x": torch.rand(4)} for _ in range(64)])
trainer.train()
print("trained", trainer.state.global_step)
"""


@needs("transformers")
@pytest.mark.parametrize("hidden", [(), ("callback_handler", "model_accepts_loss_kwargs", "_save_checkpoint")])
def test_names_of_the_trainer_that_are_gone_are_told_and_the_script_ends(job: Job, hidden: tuple[str, ...]) -> None:
    hiding = f"{HIDING}hide(of_trainer, *{hidden!r})\n" if hidden else ""
    finished = job.run(hiding + HUGGING_FACE, steps="auto", cold=True, timeout=300)
    assert finished.stdout.endswith("trained 4\n"), finished.stderr
    assert gone(finished) == set(hidden)
    assert finished.of_kind("hook_failed") == []


@needs("transformers")
def test_a_trainer_whose_arguments_are_elsewhere_gets_no_batches_of_a_plan(job: Job) -> None:
    finished = job.run(f"{HIDING}hide(of_trainer, 'args')\n{HUGGING_FACE}", MICRO_BATCH, cold=True, timeout=300)
    assert "has a Trainer's arguments elsewhere" in finished.only("plan_refused")["text"]
    assert gone(finished) == {"args"}


ACCELERATE = """
import sys, torch, accelerate
plain = accelerate.Accelerator.__getattribute__
def look(self, name):
    if name == "gradient_state" and "python/vramfit/" in sys._getframe(1).f_code.co_filename:
        raise AttributeError(name)
    return plain(self, name)
accelerate.Accelerator.__getattribute__ = look
accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
loader = torch.utils.data.DataLoader(torch.randn(32, 4), batch_size=8)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(x).mean())
        optimizer.step()
        optimizer.zero_grad()
print("trained")
"""


@needs("accelerate")
def test_an_accelerator_that_keeps_its_state_elsewhere_accumulates_as_ever(job: Job) -> None:
    finished = job.run(ACCELERATE, cold=True, timeout=300)
    assert finished.stdout == "trained\n", finished.stderr
    assert finished.of_kind("hook_failed") == []


@needs("accelerate")
def test_an_accelerator_that_keeps_its_state_elsewhere_gets_no_parts_of_batches(job: Job) -> None:
    finished = job.run(ACCELERATE, MICRO_BATCH, cold=True, timeout=300)
    assert "accelerate keeps elsewhere after how many batches a step is due" in finished.only("plan_refused")["text"]


VLLM = {
    "vllm/__init__.py": "__version__ = '0.99'\n",
    "vllm/config.py": "class CacheConfig:\n    block_size = 16\n",
    "vllm/v1/__init__.py": "",
    "vllm/v1/worker/__init__.py": "",
    "vllm/v1/worker/gpu_model_runner.py": (
        "class GPUModelRunner:\n    model_memory_usage = 2\n    def capture_model(self):\n        return 1\n"
    ),
    "vllm/v1/worker/gpu_worker.py": (
        "from vllm.config import CacheConfig\n"
        "from vllm.v1.worker.gpu_model_runner import GPUModelRunner\n"
        "class Worker:\n"
        "    def __init__(self):\n"
        "        self.cache_config, self.model_runner, self.device = CacheConfig(), GPUModelRunner(), None\n"
        "        self.peak_activation_memory, self.non_torch_memory = 3, 4\n"
        "        self.available_kv_cache_memory_bytes = 5\n"
        "    def compile_or_warm_up_model(self):\n"
        "        return 'warm'\n"
    ),
}


def test_blocks_that_vllm_counts_elsewhere_are_told_as_gone(job: Job) -> None:
    """A package laid out as vLLM is, whose count of blocks has another name."""
    writes = "import os, sys\n" + "".join(
        f"os.makedirs(os.path.dirname({name!r}), exist_ok=True); open({name!r}, 'w').write({text!r})\n"
        for name, text in VLLM.items()
    )
    script = writes + (
        "sys.path.insert(0, os.getcwd())\nimport torch\nfrom vllm.v1.worker.gpu_worker import Worker\n"
        "print(Worker().compile_or_warm_up_model())\n"
    )
    finished = job.run(script, cold=True, timeout=300)
    assert finished.stdout == "warm\n", finished.stderr
    lost = {note["name"]: note["lost"] for note in finished.of_kind("name_gone")}
    assert lost == {"num_gpu_blocks": "how many tokens its cache holds is not told"}
    told = finished.only("server_memory")
    assert (told["framework"], told["weights_bytes"], told.get("kv_tokens")) == ("vLLM", 2, None)
    assert finished.of_kind("hook_failed") == []
