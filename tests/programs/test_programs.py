"""Programs on libraries that people train with, unmodified, on a virtual card: they end well, with the right phases and
nothing left unmodelled. The recipes make their small models and data themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from product import ROOT, Finished, Product

sys.path.insert(0, str(ROOT / "tools"))
from suite import python_environments

RECIPES = Path(__file__).resolve().parent / "recipes"
TRAIN = frozenset({"train"})
OLDER = "programs-2.6"  # the other version of torch that is supported throughout


@dataclass(frozen=True)
class Recipe:
    script: str
    arguments: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    environment: str = "programs"  # of tests/requirements
    gpu: str = "rtx3090"
    launcher: tuple[str, ...] = ()  # options of the interpreter before the script
    phases: frozenset[str] = TRAIN  # each must have been seen
    owners: frozenset[str] = frozenset()  # each must hold something at the peak

    def __str__(self) -> str:
        words = [self.script, *self.arguments]
        if self.launcher:
            words += ["under", *self.launcher[self.launcher[0] == "-m" :]]
        if self.environment == OLDER:
            words += ["on", "torch", "2.6"]
        return " ".join(words)


EVALUATED = frozenset({"train", "validate"})
STATE = frozenset({"weights", "optimizer"})
FSDP = (
    *("--use_fsdp", "--fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP"),
    *("--fsdp_transformer_layer_cls_to_wrap", "LlamaDecoderLayer"),
)
ACCELERATE = ("-m", "accelerate.commands.launch", "--num_processes", "2")


def on_two_cards(script: str, *arguments: str, owners: frozenset[str] = STATE, **how: Any) -> Recipe:
    return Recipe(script, arguments, gpu="2xrtx3090", phases=EVALUATED, owners=owners, **how)


def accelerated(*options: str, owners: frozenset[str] = STATE) -> Recipe:
    packages = ("accelerate", "transformers")
    return on_two_cards("accelerate_strategies.py", launcher=(*ACCELERATE, *options), packages=packages, owners=owners)


# Programs none of whose code is the user's own: their lines are those of their packages.
STARTED_BY_NAME = {"torchtune": ("torchtune/", "recipes/"), "torchtitan": "torchtitan/"}

RECIPES_RUN = [
    Recipe("peft_lora.py", packages=("peft", "transformers"), owners=frozenset({"weights"})),
    Recipe("qlora_bitsandbytes.py", packages=("bitsandbytes", "peft")),
    Recipe("trl_sft.py", packages=("trl",)),
    Recipe("trl_dpo.py", packages=("trl",)),
    Recipe("trl_grpo.py", packages=("trl",)),
    Recipe("pyg_graphs.py", packages=("torch-geometric",), phases=frozenset({"train", "validate"})),
    Recipe(
        "pyg_nodes.py", packages=("torch-geometric",), phases=EVALUATED, owners=frozenset({"inputs", "activations"})
    ),
    Recipe("ultralytics_yolo.py", packages=("ultralytics",), phases=frozenset({"train", "validate", "test"})),
    Recipe("diffusers_train.py", packages=("diffusers",)),
    Recipe("diffusers_train.py", ("lora",), packages=("diffusers", "peft")),
    Recipe("diffusers_train.py", ("dreambooth",), packages=("diffusers",), owners=STATE | {"other models"}),
    Recipe("diffusers_pipeline.py", packages=("diffusers",), phases=frozenset()),
    Recipe("diffusers_pipeline.py", ("model",), packages=("diffusers",), phases=frozenset()),
    Recipe("diffusers_pipeline.py", ("sequential",), packages=("diffusers",), phases=frozenset()),
    Recipe("whisper_finetune.py", packages=("transformers",)),
    Recipe("torchao_quantization.py", ("int8",), packages=("torchao",), phases=frozenset()),
    Recipe("torchao_quantization.py", ("fp8",), packages=("torchao",), phases=frozenset()),
    Recipe("monai_segmentation.py", packages=("monai",), phases=frozenset({"train", "validate"})),
    Recipe("smp_segmentation.py", packages=("segmentation-models-pytorch",), phases=frozenset({"train", "validate"})),
    Recipe("sb3_dqn.py", packages=("stable-baselines3",)),
    Recipe("timm_ema.py", packages=("timm",), owners=frozenset({"EMA copies", "weights"})),
    Recipe("timm_validate.py", packages=("timm",), phases=frozenset({"test"}), owners=frozenset({"weights"})),
    Recipe("generate_cache.py", packages=("transformers",), phases=frozenset(), owners=frozenset({"KV cache"})),
    Recipe("generate_modes.py", packages=("transformers",), phases=frozenset({"test"})),
    Recipe("deepspeed_zero.py", ("2",), packages=("deepspeed",)),
    Recipe("deepspeed_zero.py", ("3",), packages=("deepspeed",)),
    Recipe("deepspeed_zero.py", ("2", "offload"), packages=("deepspeed",)),
    accelerated("--multi_gpu", owners=STATE | {"gradients"}),
    accelerated(*FSDP, "--fsdp_version", "1"),
    accelerated(*FSDP, "--fsdp_version", "2"),
    on_two_cards("lightning_strategies.py", "ddp", "2", packages=("lightning",), owners=STATE | {"gradients"}),
    on_two_cards("lightning_strategies.py", "ddp_spawn", "2", packages=("lightning",), owners=STATE | {"gradients"}),
    on_two_cards("lightning_strategies.py", "fsdp", "2", packages=("lightning",)),
    on_two_cards(
        *("lightning_strategies.py", "deepspeed_stage_3", "2"),
        packages=("lightning", "deepspeed"),
        owners=frozenset({"gradients", "optimizer"}),
    ),
    *[
        Recipe(
            "xformers_attention.py",
            (operator,),
            packages=("xformers", "torch"),
            environment="xformers",
            owners=STATE | {"activations"},
        )
        for operator in ("cutlass", "flash")
    ],
    Recipe(
        "torchtune_lora.py",
        ("lora_finetune_single_device",),
        packages=("torchtune", "torchao", "torch"),
        environment="torchtune",
        owners=STATE | {"activations"},
    ),
    *[
        Recipe(
            "torchtitan_train.py",
            (cards,),
            packages=("torchtitan", "torch"),
            environment="torchtitan",
            gpu=f"{cards}xrtx3090",
            owners=STATE | {"activations"},
        )
        for cards in ("1", "2")
    ],
    Recipe("notebook_nbconvert.py", packages=("nbconvert", "torch"), environment="notebook"),
]
# Those that are known to run on the older torch.
ON_OLDER = {
    *("peft", "torch-geometric", "diffusers", "torchao", "monai", "segmentation-models-pytorch", "timm"),
    *("transformers", "accelerate", "bitsandbytes", "stable-baselines3", "trl"),
}
OLDER_RUN = [
    replace(recipe, environment=OLDER)
    for recipe in RECIPES_RUN
    if recipe.environment == "programs"
    and set(recipe.packages) <= ON_OLDER
    and recipe.launcher[-1:] != ("2",)  # accelerate's FSDP 2: not tried there
]


# Each of them on what it brings itself, and not on the torch that other programs have.
OTHERS_RUN = [
    Recipe("jax_train.py", packages=("jax",), environment="jax", phases=frozenset()),
    Recipe("jax_train.py", ("scan",), packages=("jax",), environment="jax", phases=frozenset()),
    Recipe("tensorflow_fit.py", packages=("tensorflow",), environment="tensorflow", phases=frozenset()),
]
VLLM_RUN = [
    Recipe("vllm_generate.py", packages=("vllm", "torch"), environment="vllm", phases=frozenset({"test"})),
    Recipe("vllm_generate.py", ("graphs",), packages=("vllm", "torch"), environment="vllm", phases=frozenset({"test"})),
    Recipe(
        "vllm_generate.py",
        ("tp2",),
        packages=("vllm", "torch"),
        environment="vllm",
        gpu="2xrtx3090",
        phases=frozenset({"test"}),
    ),
]


def versions_of(python: Path, packages: tuple[str, ...]) -> dict[str, str]:
    question = (
        "import importlib.metadata, json, sys\n"
        "print(json.dumps({name: importlib.metadata.version(name) for name in sys.argv[1:]}))"
    )
    said = subprocess.run([python, "-c", question, *packages], capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def phases_of(run: Finished) -> set[str]:
    return {phase["name"] for phase in run.result["phases"]}


def told(recipe: Recipe, python: Path, run: Finished) -> dict[str, object]:
    """A row of docs/tried.md."""
    first = (RECIPES / recipe.script).read_text().splitlines()[0].strip('"')
    peak = max((card["peak_device_bytes"] for card in run.result.get("devices", [])), default=0)
    in_use = max((memory["peak_bytes"] for memory in run.result.get("frameworks", [])), default=None)
    return {
        "program": str(recipe),
        "what": first,
        "versions": versions_of(
            python, recipe.packages + (("torch",) if recipe.environment in ("programs", OLDER) else ())
        ),
        "verdict": run.result.get("verdict", f"exit {run.exit_code}"),
        "phases": sorted(phases_of(run)) if run.result else [],
        "peak_mib": (peak if in_use is None else in_use) >> 20,
        "peak_of": "device" if in_use is None else "in use",
        "not_modelled": [remark["text"] for remark in run.result.get("not_modelled", [])],
    }


def run_recipe(recipe: Recipe, product: Product, outcomes: list[dict[str, object]]) -> Finished:
    python = python_environments.python(recipe.environment)
    command = [str(python), *recipe.launcher, str(RECIPES / recipe.script), *recipe.arguments]
    report = product.folder / "result.json"
    run = product.call(
        *["run", "--gpu", recipe.gpu, "--json", str(report), "--", *command],
        timeout=900,
        HF_HUB_OFFLINE="1",
        TOKENIZERS_PARALLELISM="false",
        YOLO_OFFLINE="1",
    )
    run = product.read(run, report)
    outcomes.append(told(recipe, python, run))
    assert run.result.get("verdict") == "fits", run
    assert recipe.phases <= phases_of(run), run.result["phases"]
    assert run.result["not_modelled"] == []
    return run


@pytest.mark.every_version
@pytest.mark.parametrize("recipe", RECIPES_RUN + OLDER_RUN, ids=str)
def test_a_program_ends_well(recipe: Recipe, product: Product, outcomes: list[dict[str, object]]) -> None:
    run = run_recipe(recipe, product, outcomes)
    held = {row["owner"] for row in run.result["owners_at_peak"] if row["bytes"] > 0}
    assert recipe.owners <= held, held
    if recipe.environment in STARTED_BY_NAME:
        lines = [row["line"] for row in run.result["lines_at_peak"]]
        assert lines and all(line.startswith(STARTED_BY_NAME[recipe.environment]) for line in lines), lines


@pytest.mark.every_version
@pytest.mark.parametrize("recipe", OTHERS_RUN, ids=str)
def test_a_program_without_torch_tells_what_it_uses_of_its_pool(
    recipe: Recipe, product: Product, outcomes: list[dict[str, object]]
) -> None:
    run = run_recipe(recipe, product, outcomes)
    (memory,) = run.result["frameworks"]
    (card,) = run.result["devices"]
    assert 0 < memory["peak_bytes"] < card["peak_device_bytes"] / 2, "the pool is most of the card"
    assert run.result["torch"] is None
    assert run.result["losses"] == []


@pytest.mark.every_version
@pytest.mark.parametrize("recipe", VLLM_RUN, ids=str)
def test_a_served_model_fills_its_cards_with_its_cache(
    recipe: Recipe, product: Product, outcomes: list[dict[str, object]]
) -> None:
    run = run_recipe(recipe, product, outcomes)
    assert len(run.result["devices"]) == (2 if "tp2" in recipe.arguments else 1)
    for card in run.result["devices"]:
        share = card["peak_device_bytes"] / card["total_bytes"]
        assert 0.85 < share < 0.97, "it is told to take 92 % of a card, and takes what remains for its cache"
    for told in run.result["servers"]:
        held = [row for row in run.result["owners_at_peak"] if row["device"] == told["device"]]
        cache = sum(row["bytes"] for row in held if row["owner"] == "KV cache")
        assert 0.99 < cache / told["kv_cache_bytes"] < 1.01, (held, told)
        assert told["kv_tokens"] > 0 and told["weights_bytes"] > 0
        assert bool(told["graph_bytes"]) == ("graphs" in recipe.arguments)


@pytest.mark.every_version
def test_parts_of_a_batch_are_left_to_deepspeeds_engine(product: Product) -> None:
    plan = product.folder / "plan.json"
    changes = [{"id": "micro_batch", "micro_batch": 2, "accumulate": 4, "loaders": [0]}]
    plan.write_text(json.dumps({"version": 1, "changes": changes}))
    python = python_environments.python("programs")
    run = product.call(
        *["run", "--gpu", "rtx3090", "--plan", str(plan), "--", str(python), str(RECIPES / "deepspeed_parts.py")],
        timeout=300,
    )
    assert run.exit_code != 0
    assert "DeepSpeed's engine adds up and averages gradients itself" in " ".join((run.stdout + run.stderr).split())
    assert "gradient_accumulation_steps 4 and train_micro_batch_size_per_gpu 2" in " ".join(run.stdout.split())
