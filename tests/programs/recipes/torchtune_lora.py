"""torchtune: `tune run` of its recipes on one card; argument: `lora_finetune_single_device` or the full one."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import sentencepiece
import torch
import yaml
from torchtune.models.llama2 import llama2

TEXTS = [f"word{i} the quick brown fox jumps over the lazy dog" for i in range(200)]
SIZES = {"vocab_size": 1000, "num_layers": 4, "num_heads": 8, "num_kv_heads": 4, "embed_dim": 512, "max_seq_len": 512}
ADAPTERS = {"lora_attn_modules": ["q_proj", "v_proj"], "apply_lora_to_mlp": True, "lora_rank": 8, "lora_alpha": 16}
recipe = sys.argv[1]
here = Path.cwd()


def part(name: str, **settings: object) -> dict[str, object]:
    return {"_component_": f"torchtune.{name}", **settings}


(here / "texts.txt").write_text("\n".join(TEXTS))
(here / "rows.json").write_text(json.dumps([{"input": text, "output": text * 3} for text in TEXTS]))
sentencepiece.SentencePieceTrainer.train(
    input="texts.txt", model_prefix="words", vocab_size=1000, hard_vocab_limit=False, byte_fallback=True, pad_id=3
)
(here / "start").mkdir(exist_ok=True)
torch.save(llama2(**SIZES).state_dict(), here / "start" / "model.pt")
(here / "start" / "config.json").write_text("{}")
model = part("models.llama2.llama2", **SIZES)
if recipe.startswith("lora"):
    model = part("models.llama2.lora_llama2", **SIZES, **ADAPTERS)
settings = {
    "output_dir": str(here / "out"),
    "model": model,
    "tokenizer": part("models.llama2.llama2_tokenizer", path="words.model", max_seq_len=256),
    "checkpointer": part(
        "training.FullModelTorchTuneCheckpointer",
        checkpoint_dir=str(here / "start"),
        checkpoint_files=["model.pt"],
        output_dir=str(here / "out"),
        model_type="LLAMA2",
    ),
    "resume_from_checkpoint": False,
    "save_adapter_weights_only": False,
    "dataset": part("datasets.instruct_dataset", source="json", data_files="rows.json", split="train"),
    "seed": 0,
    "shuffle": True,
    "batch_size": 4,
    "epochs": 1,
    "max_steps_per_epoch": None,
    "gradient_accumulation_steps": 2,
    "clip_grad_norm": None,
    "compile": False,
    "optimizer": {"_component_": "torch.optim.AdamW", "lr": 3e-4, "fused": True},
    "optimizer_in_bwd": False,
    "lr_scheduler": part("training.lr_schedulers.get_cosine_schedule_with_warmup", num_warmup_steps=2),
    "loss": part("modules.loss.CEWithChunkedOutputLoss"),
    "metric_logger": part("training.metric_logging.DiskLogger", log_dir="out/logs"),
    "log_every_n_steps": 1,
    "log_peak_memory_stats": True,
    "device": "cuda",
    "dtype": "bf16",
    "enable_activation_checkpointing": False,
    "enable_activation_offloading": False,
}
Path("tiny.yaml").write_text(yaml.safe_dump(settings))
tune = str(Path(sys.executable).with_name("tune"))
os.execv(tune, [tune, "run", recipe, "--config", "tiny.yaml"])
