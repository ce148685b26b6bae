"""Networks of torchvision and transformers as those packages define them, trained for a few steps."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from registry import part, workload

STEPS = 3


@dataclass
class Job:
    """What a training step needs."""

    model: nn.Module
    loss_of: Callable[[nn.Module], Tensor]
    autocast: torch.dtype | None
    optimizer: Callable[..., torch.optim.Optimizer]


def one_step(job: Job, update: torch.optim.Optimizer) -> None:
    with torch.autocast("cuda", job.autocast or torch.bfloat16, enabled=job.autocast is not None):
        loss = job.loss_of(job.model)
    loss.backward()
    update.step()
    update.zero_grad()


def begin(make: Callable[[], Job]) -> tuple[Job, torch.optim.Optimizer]:
    job = make()
    return job, job.optimizer(job.model.parameters(), lr=1e-4)


def steps(make: Callable[[], Job]) -> None:
    """Trains; each step is a part."""
    job, update = begin(make)
    part("model")
    for step in range(STEPS):
        one_step(job, update)
        part(f"step {step}")


JOBS: dict[str, Callable[[], Job]] = {}


def network(name: str, make: Callable[[], Job], benchmark: bool = False) -> None:
    JOBS[name] = make
    workload(name, suite="networks", benchmark=benchmark)(functools.partial(steps, make))


SGD = functools.partial(torch.optim.SGD, momentum=0.9)


def vision(name: str, batch: int, size: int, autocast: torch.dtype | None, last: bool, benchmark: bool) -> Job:
    import torchvision

    torch.backends.cudnn.benchmark = benchmark
    model = torchvision.models.get_model(name, weights=None).cuda().train()
    pictures = torch.randn(batch, 3, size, size, device="cuda")
    if last:
        model, pictures = (
            model.to(memory_format=torch.channels_last),
            pictures.contiguous(memory_format=torch.channels_last),
        )
    labels = torch.zeros(batch, dtype=torch.long, device="cuda")

    def loss_of(network: nn.Module) -> Tensor:
        out = network(pictures)
        out = getattr(out, "logits", out)
        return F.cross_entropy(out, labels)

    return Job(model, loss_of, autocast, SGD)


def segmentation(name: str, autocast: torch.dtype | None) -> Job:
    import torchvision

    model = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=21).cuda().train()
    pictures = torch.randn(4, 3, 384, 384, device="cuda")
    labels = torch.zeros(4, 384, 384, dtype=torch.long, device="cuda")
    return Job(model, lambda m: F.cross_entropy(m(pictures)["out"], labels), autocast, SGD)


def detection(name: str) -> Job:
    import torchvision

    model = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=21).cuda().train()
    pictures = [torch.rand(3, 480, 640, device="cuda") for _ in range(2)]
    boxes = torch.tensor([[10.0, 20.0, 200.0, 300.0], [50.0, 60.0, 400.0, 350.0]], device="cuda")
    targets = [{"boxes": boxes, "labels": torch.tensor([1, 2], device="cuda")} for _ in pictures]
    return Job(model, lambda m: sum(m(pictures, targets).values()), None, SGD)


VISION = (
    *("resnet18", "resnet50", "vgg16", "mobilenet_v3_large", "efficientnet_b0", "convnext_tiny", "densenet121"),
    *("shufflenet_v2_x1_0", "regnet_y_800mf", "swin_t", "vit_b_16", "googlenet", "mnasnet1_0", "squeezenet1_1"),
)
HALF = torch.bfloat16
for _name in VISION:
    network(f"{_name}_fp32", functools.partial(vision, _name, 16, 224, None, False, False))
    network(f"{_name}_bf16_channels_last", functools.partial(vision, _name, 32, 224, HALF, True, False))
for _name in ("resnet50", "vgg16", "efficientnet_b0", "convnext_tiny"):
    network(f"{_name}_fp16_benchmark", functools.partial(vision, _name, 32, 224, torch.float16, True, True), True)
    network(f"{_name}_fp32_benchmark", functools.partial(vision, _name, 16, 224, None, False, True), True)
for _name in ("deeplabv3_resnet50", "fcn_resnet50", "lraspp_mobilenet_v3_large"):
    network(f"{_name}_fp32", functools.partial(segmentation, _name, None))
    network(f"{_name}_bf16", functools.partial(segmentation, _name, HALF))
for _name in ("fasterrcnn_resnet50_fpn", "retinanet_resnet50_fpn", "ssd300_vgg16"):
    network(_name, functools.partial(detection, _name))


def text(kind: str, settings: dict[str, Any], batch: int, length: int, autocast: torch.dtype | None) -> Job:
    """A model of transformers from its configuration; `kind` is the configuration's model_type."""
    import transformers

    config = transformers.AutoConfig.for_model(kind, **settings)
    classes = {
        "bert": transformers.AutoModelForMaskedLM,
        "t5": transformers.AutoModelForSeq2SeqLM,
    }
    model = classes.get(kind, transformers.AutoModelForCausalLM).from_config(config).cuda().train()
    ids = torch.ones(batch, length, dtype=torch.long, device="cuda")
    return Job(model, lambda m: m(input_ids=ids, labels=ids).loss, autocast, torch.optim.AdamW)


LLAMA = {
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 8,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
}
SMALL_EXPERTS = {**LLAMA, "num_hidden_layers": 4, "num_local_experts": 4}
for _kind, _settings, _batch, _length in (
    ("gpt2", {}, 4, 512),
    ("bert", {}, 8, 384),
    ("llama", LLAMA, 4, 1024),
    ("qwen2", {**LLAMA, "vocab_size": 64000}, 2, 1024),
    ("mistral", LLAMA, 2, 1024),
    ("mixtral", SMALL_EXPERTS, 2, 512),
    ("opt", {}, 4, 512),
    ("t5", {"decoder_start_token_id": 0}, 8, 256),
    (
        "gpt_neox",
        {"hidden_size": 768, "num_hidden_layers": 8, "num_attention_heads": 12, "intermediate_size": 3072},
        4,
        512,
    ),
):
    for _label, _type in (("fp32", None), ("bf16", HALF)):
        network(f"{_kind}_{_label}", functools.partial(text, _kind, _settings, _batch, _length, _type))


def resnet18_compiled() -> Job:
    import torchvision

    model = torch.compile(torchvision.models.resnet18().cuda().train())
    pictures, labels = torch.randn(16, 3, 224, 224, device="cuda"), torch.zeros(16, dtype=torch.long, device="cuda")
    return Job(model, lambda m: F.cross_entropy(m(pictures), labels), None, torch.optim.SGD)


def gpt2_compiled() -> Job:
    import transformers

    model = transformers.AutoModelForCausalLM.from_config(transformers.GPT2Config(n_layer=4)).cuda().train()
    compiled = torch.compile(model)
    ids = torch.ones(4, 256, dtype=torch.long, device="cuda")
    return Job(model, lambda _: compiled(input_ids=ids, labels=ids).loss, HALF, torch.optim.AdamW)


network("resnet18_compiled", resnet18_compiled)
network("gpt2_compiled_bf16", gpt2_compiled)
