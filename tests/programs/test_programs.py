"""Programs on libraries that people train with, unmodified, on a virtual card: they end well, with the right phases and
nothing left unmodelled. The recipes make their small models and data themselves."""

from __future__ import annotations

import importlib.metadata
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from product import Finished, Product

RECIPES = Path(__file__).resolve().parent / "recipes"
TRAIN = frozenset({"train"})


@dataclass(frozen=True)
class Recipe:
    script: str
    arguments: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    phases: frozenset[str] = TRAIN  # each must have been seen
    owners: frozenset[str] = frozenset()  # each must hold something at the peak

    def __str__(self) -> str:
        return " ".join([self.script, *self.arguments])


RECIPES_RUN = [
    Recipe("peft_lora.py", packages=("peft", "transformers"), owners=frozenset({"weights"})),
    Recipe("qlora_bitsandbytes.py", packages=("bitsandbytes", "peft")),
    Recipe("trl_sft.py", packages=("trl",)),
    Recipe("trl_dpo.py", packages=("trl",)),
    Recipe("trl_grpo.py", packages=("trl",)),
    Recipe("pyg_graphs.py", packages=("torch-geometric",), phases=frozenset({"train", "validate"})),
    Recipe("ultralytics_yolo.py", packages=("ultralytics",), phases=frozenset({"train", "validate", "test"})),
    Recipe("diffusers_train.py", packages=("diffusers",)),
    Recipe("diffusers_train.py", ("lora",), packages=("diffusers", "peft")),
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
    Recipe("generate_cache.py", packages=("transformers",), phases=frozenset(), owners=frozenset({"KV cache"})),
    Recipe("deepspeed_zero.py", ("2",), packages=("deepspeed",)),
    Recipe("deepspeed_zero.py", ("3",), packages=("deepspeed",)),
    Recipe("deepspeed_zero.py", ("2", "offload"), packages=("deepspeed",)),
]


def phases_of(run: Finished) -> set[str]:
    return {phase["name"] for phase in run.result["phases"]}


def told(recipe: Recipe, run: Finished) -> dict[str, object]:
    """A row of docs/tried.md."""
    versions = {name: importlib.metadata.version(name) for name in (*recipe.packages, "torch")}
    first = (RECIPES / recipe.script).read_text().splitlines()[0].strip('"')
    peak = max((card["peak_device_bytes"] for card in run.result.get("devices", [])), default=0)
    return {
        "program": str(recipe),
        "what": first,
        "versions": versions,
        "verdict": run.result.get("verdict", f"exit {run.exit_code}"),
        "phases": sorted(phases_of(run)) if run.result else [],
        "peak_mib": peak >> 20,
        "not_modelled": [remark["text"] for remark in run.result.get("not_modelled", [])],
    }


@pytest.mark.every_version
@pytest.mark.parametrize("recipe", RECIPES_RUN, ids=str)
def test_a_program_ends_well(recipe: Recipe, product: Product, outcomes: list[dict[str, object]]) -> None:
    command = [sys.executable, str(RECIPES / recipe.script), *recipe.arguments]
    report = product.folder / "result.json"
    run = product.call(
        *["run", "--gpu", "rtx3090", "--json", str(report), "--", *command],
        timeout=900,
        HF_HUB_OFFLINE="1",
        TOKENIZERS_PARALLELISM="false",
        YOLO_OFFLINE="1",
    )
    run = product.read(run, report)
    outcomes.append(told(recipe, run))
    assert run.result.get("verdict") == "fits", run
    assert recipe.phases <= phases_of(run), run.result["phases"]
    held = {row["owner"] for row in run.result["owners_at_peak"] if row["bytes"] > 0}
    assert recipe.owners <= held, held
    assert run.result["not_modelled"] == []
