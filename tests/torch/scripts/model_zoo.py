"""Networks with random weights at small sizes: one training step each and one evaluation. Nothing is downloaded.

model_zoo.py NAME...     one JSON line with the peaks of each
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable

import torch
from torch import nn

SIDE = 64
BATCH = 2
TOKENS = 32
Case = tuple[nn.Module, Callable[[nn.Module], torch.Tensor], Callable[[nn.Module], object]]
CASES: dict[str, Callable[[], Case]] = {}


def images(side: int = SIDE, batch: int = BATCH) -> torch.Tensor:
    return torch.randn(batch, 3, side, side).cuda()


def labels(batch: int = BATCH, classes: int = 10) -> torch.Tensor:
    return torch.randint(0, classes, (batch,)).cuda()


def tokens(vocabulary: int) -> torch.Tensor:
    return torch.randint(1, vocabulary, (BATCH, TOKENS)).cuda()


def classifier(model: nn.Module, side: int = SIDE) -> Case:
    def loss(net: nn.Module) -> torch.Tensor:
        return nn.functional.cross_entropy(net(images(side)), labels())

    return model, loss, lambda net: net(images(side))


def vision(name: str, side: int = SIDE) -> None:
    def make() -> Case:
        import torchvision

        return classifier(torchvision.models.get_model(name, weights=None, num_classes=10), side)

    CASES[name] = make


def timm_model(name: str, side: int = SIDE, **options: object) -> None:
    def make() -> Case:
        import timm

        return classifier(timm.create_model(name, num_classes=10, **options), side)

    CASES[f"timm {name}"] = make


def segmentation() -> Case:
    import torchvision

    model = torchvision.models.segmentation.deeplabv3_resnet50(weights=None, weights_backbone=None, num_classes=5)

    def loss(net: nn.Module) -> torch.Tensor:
        return nn.functional.cross_entropy(net(images())["out"], torch.randint(0, 5, (BATCH, SIDE, SIDE)).cuda())

    return model, loss, lambda net: net(images())["out"]


def detection() -> Case:
    from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn

    model = fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=5)
    pictures = [torch.rand(3, 120, 160).cuda() for _ in range(BATCH)]
    boxes = torch.tensor([[10.0, 10, 60, 60], [30, 20, 100, 90]])
    targets = [{"boxes": boxes.cuda(), "labels": torch.tensor([1, 2]).cuda()} for _ in pictures]
    return model, lambda net: sum(net(pictures, targets).values()), lambda net: net(pictures)


def optical_flow() -> Case:
    from torchvision.models.optical_flow import raft_small

    model = raft_small(weights=None)
    return model, lambda net: net(images(128), images(128))[-1].abs().mean(), lambda net: net(images(128), images(128))


def language(name: str, config: Callable[[object], object], head: str, **extra: object) -> None:
    def make() -> Case:
        import transformers

        settings = config(transformers)
        model = getattr(transformers, head)(settings)

        def loss(net: nn.Module) -> torch.Tensor:
            ids = tokens(100)
            return net(input_ids=ids, labels=ids).loss

        def evaluate(net: nn.Module) -> object:
            ids = tokens(100)
            return net(input_ids=ids, labels=ids).logits

        return model, loss, evaluate

    CASES[f"transformers {name}"] = make


def whisper() -> Case:
    import transformers

    settings = transformers.WhisperConfig(
        vocab_size=100, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2,
        decoder_attention_heads=2, encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=100,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    model = transformers.WhisperForConditionalGeneration(settings)
    sound = torch.randn(BATCH, 80, 200).cuda()
    return (
        model,
        lambda net: net(input_features=sound, labels=tokens(100)).loss,
        lambda net: net(input_features=sound, labels=tokens(100)).logits,
    )


def clip() -> Case:
    import transformers

    small = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2}
    settings = transformers.CLIPConfig(
        text_config={
            **small,
            "vocab_size": 100,
            "max_position_embeddings": TOKENS,
            "eos_token_id": 2,
            "bos_token_id": 1,
        },
        vision_config={**small, "image_size": SIDE, "patch_size": 16},
    )
    model = transformers.CLIPModel(settings)

    def run(net: nn.Module) -> object:
        return net(input_ids=tokens(100), pixel_values=images(), return_loss=True)

    return model, lambda net: run(net).loss, run


for model_name in ("resnet50", "convnext_tiny", "swin_t", "mobilenet_v3_small", "efficientnet_b0", "vgg11_bn"):
    vision(model_name)
vision("vit_b_16", side=224)
timm_model("vit_tiny_patch16_224", img_size=SIDE)
timm_model("efficientnet_lite0")
timm_model("mixer_s32_224", side=224)
timm_model("levit_128s", side=224)
CASES["deeplabv3_resnet50"] = segmentation
CASES["fasterrcnn"] = detection
CASES["raft_small"] = optical_flow
SMALL = {"vocab_size": 100, "num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64}
language("bert", lambda t: t.BertConfig(**SMALL, intermediate_size=128), "BertForMaskedLM")
language("llama", lambda t: t.LlamaConfig(**SMALL, intermediate_size=128), "LlamaForCausalLM")
language("gpt2", lambda t: t.GPT2Config(vocab_size=100, n_layer=2, n_head=4, n_embd=64), "GPT2LMHeadModel")
language(
    "t5",
    lambda t: t.T5Config(
        vocab_size=100, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, decoder_start_token_id=0
    ),
    "T5ForConditionalGeneration",
)
CASES["transformers whisper"] = whisper
CASES["transformers clip"] = clip


def run(name: str) -> dict[str, object]:
    torch.manual_seed(0)
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    model, loss, evaluate = CASES[name]()
    model.cuda().train()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        loss(model).backward()
        optimizer.step()
        optimizer.zero_grad()
    trained = torch.cuda.max_memory_allocated() - before
    torch.cuda.reset_peak_memory_stats()
    model.eval()
    with torch.no_grad():
        evaluate(model)
    parameters = sum(p.numel() * p.element_size() for p in model.parameters())
    return {
        "name": name,
        "parameters": parameters,
        "train": trained,
        "eval": torch.cuda.max_memory_allocated() - before,
    }


if __name__ == "__main__":
    for wanted in sys.argv[1:] or list(CASES):
        try:
            facts = run(wanted)
        except Exception as error:  # one model that fails is one line; the test says which
            facts = {"name": wanted, "error": f"{type(error).__name__}: {error}"[:500]}
        sys.stdout.write(json.dumps(facts) + "\n")
        sys.stdout.flush()
