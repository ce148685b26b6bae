"""Training scripts that others published, each at one commit, with commands large enough for their memory to matter.

They are nowhere in this repository: clone them to DIR/OWNER/NAME; `bench/fit/run` makes data up for them there.
"""

from __future__ import annotations

from dataclasses import dataclass

EXAMPLES = "pytorch/examples"
NANO_GPT = "karpathy/nanoGPT"
MIN_GPT = "karpathy/minGPT"
UNET = "milesial/Pytorch-UNet"
TIMM = "huggingface/pytorch-image-models"
COMMITS = {
    EXAMPLES: "77f55b912142e11fcfdf5b530231fb9c52f181e8",
    NANO_GPT: "3adf61e154c3fe3fca428ad6bc3818b27a3b8291",
    MIN_GPT: "37baab71b9abea1b76ab957409a1cc2fbfba8a26",
    UNET: "21d7850f2af30a9695bbeea75f3136aa538cfc4a",
    TIMM: "aa4b5850c1543fa488abf260f18390eda46cf85d",
}


@dataclass(frozen=True)
class Program:
    """One command in a folder of a repository; `{images}` is the folder of photographs."""

    repository: str
    command: str  # after the interpreter
    folder: str = ""


_TIMM = "train.py --data-dir {images} -j 2 --num-classes 4 --model "
_NANO_GPT = (
    "train.py --dataset=made_up --compile=False --block_size=1024 --eval_iters=4 --max_iters=20 --eval_interval=10 "
)
_LANGUAGE = "main.py --accel --data made_up --epochs 2 --bptt 128 "

PROGRAMS = {
    "imagenet_resnet50": Program(EXAMPLES, "main.py -a resnet50 -b 64 -j 2 --epochs 1 {images}", "imagenet"),
    "nanogpt_124m": Program(NANO_GPT, _NANO_GPT + "--batch_size=8 --gradient_accumulation_steps=4 --dtype=float32"),
    "nanogpt_bf16": Program(NANO_GPT, _NANO_GPT + "--batch_size=12 --gradient_accumulation_steps=2 --dtype=bfloat16"),
    "unet": Program(UNET, "train.py -e 1 -b 4 -s 0.5 -v 20 -c 2"),
    "unet_amp": Program(UNET, "train.py -e 1 -b 8 -s 0.5 -v 20 -c 2 --amp"),
    "timm_resnet50": Program(TIMM, _TIMM + "resnet50 -b 64 --epochs 2 --input-size 3 224 224"),
    "timm_vit": Program(TIMM, _TIMM + "vit_base_patch16_224 -b 32 --epochs 1 --opt adamw --lr 1e-4"),
    "timm_convnext_amp_ema": Program(
        TIMM, _TIMM + "convnext_small -b 32 --amp --model-ema --epochs 1 --opt adamw --lr 1e-4"
    ),
    "timm_efficientnet_mixup": Program(TIMM, _TIMM + "efficientnet_b3 -b 32 --mixup 0.8 --cutmix 1.0 --epochs 1"),
    "lm_transformer": Program(
        EXAMPLES,
        _LANGUAGE + "--model Transformer --emsize 1024 --nhid 4096 --nhead 8 --nlayers 6 --batch_size 64 --lr 5",
        "word_language_model",
    ),
    "lm_lstm": Program(
        EXAMPLES, _LANGUAGE + "--model LSTM --emsize 650 --nhid 650 --batch_size 128", "word_language_model"
    ),
    "dcgan": Program(
        EXAMPLES, "main.py --dataset fake --accel --niter 1 --workers 0 --batchSize 512 --ngf 128 --ndf 128", "dcgan"
    ),
    "mnist": Program(EXAMPLES, "main.py --epochs 1 --batch-size 4096 --test-batch-size 4096", "mnist"),
    "chargpt": Program(
        MIN_GPT,
        "-m projects.chargpt.chargpt --trainer.max_iters=100 --trainer.num_workers=0 --model.model_type=gpt2 "
        "--trainer.batch_size=32",
    ),
}
