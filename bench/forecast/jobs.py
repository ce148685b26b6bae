"""The jobs that forecasts are tried on, and what `vramfit_forecast_tool` tells of one: lines of JSON.

`added` adds up shares of what each moment held, `played` plays the job's own stream of allocations through the
simulator of PyTorch's allocator; `proven` is the run. A technique that is not for this job has a line with the reason.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "fit"))

from programs import PROGRAMS, TIMM  # noqa: E402

OWN = {
    "pp_liteseg": "examples/pp_liteseg/train.py --batch-size 8 --crop-size 1024 512",
    "bert_large": "examples/bert_large/train.py --batch-size 8",
    "no_grad_missing": "examples/validation_oom/train.py --validation no-grad-missing",
}
# Families of networks, by timm's train.py. None is among bench/fit's programs.
FAMILIES = {
    "densenet121": "-b 32 --opt sgd",
    "regnety_032": "-b 32 --opt adamw",
    "mobilenetv3_large_100": "-b 64 --opt sgd",
    "vgg16_bn": "-b 16 --opt sgd",
    "swin_tiny_patch4_window7_224": "-b 32 --opt adamw",
    "mixer_b16_224": "-b 32 --opt adamw",
    "deit_small_patch16_224": "-b 64 --opt adamw --amp",
    "resnext50_32x4d": "-b 32 --opt adamw",
    "seresnet50": "-b 32 --opt sgd --amp",
    "poolformer_s12": "-b 32 --opt adamw",
    "convnext_tiny": "-b 32 --opt adamw",
    "efficientnet_b0": "-b 64 --opt sgd",
    "inception_v3": "-b 32 --opt sgd",
    "resnetv2_50": "-b 32 --opt adamw",
    "dla34": "-b 32 --opt sgd",
    "cait_xxs24_224": "-b 32 --opt adamw",
}
# Networks that need nothing from elsewhere, by synthetic/train.py; "small_" tells them from families of their name.
SYNTHETIC = {
    "small_resnet18": "resnet18",
    "small_resnet50": "resnet50",
    "small_vgg11_bn": "vgg11_bn",
    "small_mobilenet_v3_small": "mobilenet_v3_small",
    "small_shufflenet_v2": "shufflenet_v2",
    "small_squeezenet": "squeezenet",
    "small_densenet121": "densenet121",
    "small_efficientnet_b0": "efficientnet_b0",
    "small_convnext_tiny": "convnext_tiny",
    "small_swin_t": "swin_t",
    "small_vit_b_16": "vit_b_16",
    "small_fcn_resnet50": "fcn_resnet50",
    "small_deeplabv3": "deeplabv3",
    "small_mixer_s16": "mixer_s16",
    "small_deit_tiny": "deit_tiny",
    "small_regnety_008": "regnety_008",
    "small_poolformer_s12": "poolformer_s12",
    "small_seresnet50": "seresnet50",
    "small_coat_lite_tiny": "coat_lite_tiny",
    "small_bert": "bert",
    "small_gpt2": "gpt2",
    "small_llama": "llama",
    "small_electra": "electra",
    "small_vit_transformers": "vit_transformers",
    "small_segformer": "segformer",
    "small_unet": "unet",
    "small_lstm": "lstm",
    "small_encoder": "encoder",
    "small_volumes": "volumes",
    "small_autoencoder": "autoencoder",
    "small_perceptron": "perceptron",
    "small_unet_gradients": "unet --gradients-in-evaluation",
    "small_resnet18_gradients": "resnet18 --gradients-in-evaluation",
    "small_bert_gradients": "bert --gradients-in-evaluation",
    "small_swin_t_gradients": "swin_t --gradients-in-evaluation",
    "small_vit_b_16_amp": "vit_b_16 --amp",
    "small_lstm_amp": "lstm --amp",
    "small_fcn_resnet50_amp": "fcn_resnet50 --amp",
    "small_gpt2_amp": "gpt2 --amp",
    # Without an evaluation, whose forwards would show when a block is needed last, and which often takes most.
    "small_resnet18_alone": "resnet18 --evaluation 0",
    "small_swin_t_alone": "swin_t --evaluation 0",
    "small_bert_alone": "bert --evaluation 0",
    "small_unet_alone": "unet --evaluation 0",
    "small_resnet50_alone": "resnet50 --evaluation 0",
    "small_densenet121_alone": "densenet121 --evaluation 0",
    "small_convnext_tiny_alone": "convnext_tiny --evaluation 0",
    "small_efficientnet_b0_alone": "efficientnet_b0 --evaluation 0",
    "small_gpt2_alone": "gpt2 --evaluation 0",
    "small_segformer_alone": "segformer --evaluation 0",
    "small_encoder_alone": "encoder --evaluation 0",
}
CLONED = [*OWN, *PROGRAMS, *FAMILIES]
JOBS = [*SYNTHETIC, *CLONED]


# Whose streams, or whose errors between one change and the next, were looked at while forecasts were mended. Nothing
# was changed for the others.
SEEN = (
    "small_autoencoder",
    "small_bert",
    "small_bert_alone",
    "small_bert_gradients",
    "small_coat_lite_tiny",
    "small_densenet121",
    "small_efficientnet_b0",
    "small_encoder",
    "small_fcn_resnet50",
    "small_gpt2_amp",
    "small_lstm",
    "small_lstm_amp",
    "small_mixer_s16",
    "small_mobilenet_v3_small",
    "small_perceptron",
    "small_poolformer_s12",
    "small_resnet18",
    "small_resnet18_alone",
    "small_resnet18_gradients",
    "small_resnet50",
    "small_seresnet50",
    "small_squeezenet",
    "small_swin_t",
    "small_swin_t_alone",
    "small_unet",
    "small_unet_alone",
    "small_unet_gradients",
    "small_vgg11_bn",
    "small_vit_b_16",
    "small_vit_transformers",
)


def group_of(job: str) -> str:
    return "seen" if job in SEEN else "unseen"


# What a job is played on is chance's choice too: cuDNN's workspaces and the context differ.
CARDS = ("a100-80gb", "rtx3090", "l40s", "h100")


def card_of(job: str) -> str:
    return CARDS[zlib.crc32(job.encode()) // 2 % len(CARDS)]


@dataclass
class Lines:
    about: dict[str, Any] = field(default_factory=dict)  # the run with plenty of memory; empty: it failed
    cases: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)  # technique -> reason

    @property
    def is_sound(self) -> bool:
        return bool(self.about) and self.about["is_sound"]


def add_options(parser: argparse.ArgumentParser, needs_python: bool = True) -> None:
    parser.add_argument("--python", required=needs_python)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "dev")
    parser.add_argument(
        "--public", type=Path, help="where the repositories were cloned; without it, synthetic jobs alone"
    )
    parser.add_argument("--gpu", help="for every job, instead of the one of four that chance gives it")
    parser.add_argument("--seconds", type=float, default=240, help="for the plans of one job")
    parser.add_argument(
        "--cases",
        default="10,5",
        help="of a job at most: plans of one technique, and of two, spread over all there are",
    )
    parser.add_argument(
        "--lines", type=Path, help="a folder to keep each job's lines in; what is there is not run again"
    )
    parser.add_argument(
        "--again",
        type=Path,
        help="a folder of lines from before, or results.csv: their plans are foretold anew and not run again",
    )
    parser.add_argument(
        "--without-own-runs",
        action="store_true",
        help="of changes that may have a run of their own, as fit foretells them where it has found a plan without",
    )


def command_of(public: Path | None, job: str) -> tuple[Path, list[str]]:
    if job in SYNTHETIC:
        return HERE / "synthetic", ["train.py", *SYNTHETIC[job].split()]
    if job in OWN:
        return ROOT, OWN[job].split()
    assert public is not None
    if job in FAMILIES:
        words = f"train.py --data-dir {public / 'images'} -j 2 --num-classes 4 --epochs 1 --model {job} {FAMILIES[job]}"
        return public / TIMM, words.split()
    program = PROGRAMS[job]
    return public / program.repository / program.folder, program.command.format(images=public / "images").split()


def _lines_before(again: Path, job: str, place: Path) -> Path | None:
    """In the form of the tool's own lines."""
    if again.suffix != ".csv":
        return before if (before := again.resolve() / f"{job}.jsonl").exists() else None
    file = place / "before.jsonl"
    with again.open() as kept, file.open("w") as lines:
        for row in csv.DictReader(kept):
            if row["job"] == job and row["card"] == card_of(job):
                case = {"plan": row["plan"], "outcome": "fits", "proven": {"device": int(row["proven"])}}
                lines.write(json.dumps(case) + "\n")
    return file


def _run(options: argparse.Namespace, job: str) -> Iterator[str]:
    public, build = options.public and options.public.resolve(), options.build.resolve()
    folder, command = command_of(public, job)
    tool = [build / "tools" / "vramfit_forecast_tool", options.gpu or card_of(job), options.seconds]
    tool += ["--cases", options.cases]
    tool += ["--own-runs", "0"] if options.without_own_runs else []
    with tempfile.TemporaryDirectory() as place:
        if options.again is not None and (before := _lines_before(options.again, job, Path(place))):
            tool += ["--proven", before]
        tool += [options.python, *command]
        own = {"VRAMFIT_HOME": str(build / "stage"), "VRAMFIT_STORE": f"{place}/runs.db", "WANDB_MODE": "disabled"}
        with subprocess.Popen(
            [str(word) for word in tool],
            cwd=folder,
            env=os.environ | own,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        ) as running:
            assert running.stdout is not None
            yield from (line.strip() for line in running.stdout if line.startswith("{"))


def _texts(options: argparse.Namespace, job: str) -> Iterator[str]:
    """Kept as they come, so that a bench that is ended has what it found."""
    kept = options.lines / f"{job}.jsonl" if options.lines else None
    if kept is not None and kept.exists():
        yield from kept.read_text().splitlines()
        return
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
    for text in _run(options, job):
        if kept is not None:
            with kept.open("a") as file:
                file.write(text + "\n")
        yield text


def lines_of(options: argparse.Namespace, job: str) -> Lines:
    found = Lines()
    for line in map(json.loads, _texts(options, job)):
        if "peak" in line:
            found.about = line
        elif "reason" in line:
            found.left_out[line["technique"]] = line["reason"]
        else:
            found.cases.append(dict(line, job=job, card=options.gpu or card_of(job)))
    return found
