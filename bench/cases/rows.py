"""The remedies, by the numbers that docs/cases.md gives them. A new technique of the planner is one entry here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Remedy:
    row: str
    what: str
    folklore: str  # what is commonly said that it saves
    technique: str  # of the planner
    change: str = ""  # as plans name it, where that is another name


REMEDIES = (
    Remedy("R1", "a smaller batch", "half the batch, half the memory", "effective_batch", "batch_size"),
    Remedy("R2", "gradient accumulation", "N micro-batches: 1/N of all memory", "micro_batch"),
    Remedy("R2", "the network in parts of a batch", "as accumulation, in any loop", "split_forward"),
    Remedy("R3", "smaller inputs", "half the side, a quarter of the memory", "resize", "resize_input"),
    Remedy("R4", "mixed precision", "half of everything", "autocast"),
    Remedy("R5", "activation checkpointing", "sqrt(n) of the activations", "checkpoint"),
    Remedy("R9", "empty_cache between phases", "frees memory", "empty_cache"),
    Remedy("R10", "no_grad in validation", "half of it", "no_grad_validation"),
    Remedy("R11", "weights in 8 bits", "a quarter of the model", "int8_weights"),
    Remedy("R14", "evaluation in smaller batches", "goes with the batch", "validation_batch"),
    Remedy("R14", "evaluation in tiles", "goes with the tile's area", "tiles"),
    Remedy("R17", "an optimizer that keeps less", "a quarter of Adam's state in 8 bits", "optimizer"),
    Remedy("R17", "gradients released in backward", "all gradients", "release_gradients"),
    Remedy("R17", "cross entropy in chunks", "all logits", "chunked_loss"),
    Remedy("R24", "allocator settings", "end fragmentation", "allocator"),
    Remedy("R25", "activations in host memory", "all of them", "offload_activations"),
    Remedy("R25", "the optimizer's state in host memory", "all of the optimizer", "offload_optimizer"),
    Remedy("R25", "an evaluation's weights in host memory", "all but the largest layer", "offload_weights"),
)

# Names of bench/forecast's jobs.
JOBS = {
    "PP-LiteSeg": "pp_liteseg",
    "ResNet-50 (timm)": "timm_resnet50",
    "BERT-large": "bert_large",
    "GPT-2 (nanoGPT)": "nanogpt_124m",
    "U-Net": "unet",
}
