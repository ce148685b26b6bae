"""The ladders, and what of vramfit's plans stands for each of their rungs.

Published figures: fixtures/published/technique_ladders.csv. A rung is named as there; its stack as
`vramfit_forecast_tool --stack` takes it, "" for the job as it is. Rungs without a published figure are on the way to
one.
"""

from __future__ import annotations

from dataclasses import dataclass

MIB, GIB, GB = 1 << 20, 1 << 30, 1_000_000_000
UNITS = {"MiB": MIB, "GiB": GIB, "GB": GB}


@dataclass(frozen=True)
class Rung:
    name: str
    stack: str | None  # None: no plan of vramfit's stands for it
    note: str = ""  # how theirs differs, or why there is no plan


@dataclass(frozen=True)
class Ladder:
    title: str
    job: str
    card: str
    kind: str  # of memory that was published: "reserved" or "allocated", by PyTorch
    rungs: tuple[Rung, ...]
    outside: int = 0  # bytes in each published figure that are not PyTorch's
    torch: str = "torch-2.12"  # the tests' environment that the card needs

    @property
    def stacks(self) -> str:
        return ";".join(dict.fromkeys(rung.stack for rung in self.rungs if rung.stack))


FOUR_CARDS = "shards over four cards: no plan of vramfit's does"
_BERT = "micro_batch=1 x 4,checkpoint"

LADDERS = {
    "vit_large": Ladder(
        title="ViT-L/16, S. Raschka's ladder, A100",
        job="vit_large.py",
        card="A100 40GB",
        kind="reserved",
        rungs=(
            Rung("02 mixed precision", "autocast", "theirs is fp16 with a scaler"),
            Rung("03 bfloat16", "half_weights"),
            Rung("micro-batches of 4", "half_weights,micro_batch=4 x 16", "theirs: four of them to a step"),
            Rung(
                "06 SGD with a schedule",
                "half_weights,micro_batch=4 x 16,optimizer=SGD",
                "theirs keeps no momentum, which in bfloat16 is as large as the weights",
            ),
            Rung("07 weights alone (init_module)", None, "no training: a network is moved to the card"),
            Rung("07 weights alone in 16 bits", None, "no training: a network is moved to the card"),
            Rung("08 FSDP on four cards", None, FOUR_CARDS),
            Rung("09 FSDP with parameters on the CPU", None, FOUR_CARDS),
            Rung("BigBird after all of them", None, "another network, of which no rung before it is known"),
        ),
    ),
    "bert_large": Ladder(
        title="BERT-large, Hugging Face's guide to one GPU, V100 16 GB",
        job="bert_large.py",
        card="v100-16gb",
        kind="reserved",
        outside=1343 * MIB,  # its context, as the guide says
        torch="torch-2.6",
        rungs=(
            Rung("batch 4", ""),
            Rung("batch 1 x 4", "micro_batch=1 x 4"),
            Rung("batch 1 x 4 with checkpoints", _BERT),
            Rung("batch 1 x 4 with checkpoints and fp16", f"{_BERT},autocast"),
            Rung("batch 1 x 4 with checkpoints and fp16 and Adafactor", f"{_BERT},autocast,optimizer=Adafactor"),
            Rung("batch 1 x 4 with checkpoints and fp16 and 8-bit Adam", f"{_BERT},autocast,optimizer=AdamW8bit"),
            Rung("batch 4 with fp16", "autocast"),
            Rung("batch 4 with Adafactor", "optimizer=Adafactor"),
            Rung("batch 4 with 8-bit Adam", "optimizer=AdamW8bit"),
        ),
    ),
    "llama_3b": Ladder(
        title="Llama 3.2 3B, torchtune's ladder, A100",
        job="llama_3b.py",
        card="a100-80gb",
        kind="allocated",
        rungs=(
            Rung("+ chunked cross entropy", "chunked_loss", "theirs is compiled too"),
            Rung("+ activation checkpointing", "chunked_loss,checkpoint"),
            Rung("+ fuse optimizer step into backward", "chunked_loss,checkpoint,release_gradients"),
            Rung("+ activation offloading", "chunked_loss,checkpoint,release_gradients,offload_activations"),
            Rung(
                "+ 8-bit AdamW",
                "chunked_loss,checkpoint,release_gradients,offload_activations,optimizer=AdamW8bit",
            ),
        ),
    ),
    "llama_3b_peft": Ladder(
        title="Llama 3.2 3B on MetaMathQA, PEFT's comparison of methods, L40S",
        job="llama_3b.py --batch-size 4 --tokens 768 --clip",
        card="l40s",
        kind="reserved",
        rungs=(
            Rung(
                "LoRA of rank 64 on queries and values",
                "lora",
                "the plan's rank is 8, on all linear layers; theirs is what 99 of 100 steps left reserved",
            ),
            Rung("20 other methods", None, "AdaLoRA, VeRA, FourierFT and the like: plans have LoRA alone"),
            Rung(
                "8 methods on FLUX.2 klein", None, "its network is one of diffusers, which the tests' environment lacks"
            ),
        ),
    ),
}
