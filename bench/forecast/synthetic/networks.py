"""Networks with random weights, and the shape of one sample: small enough that a run on a virtual GPU takes seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

CLASSES = 10
VOCABULARY = 32000


@dataclass(frozen=True)
class Job:
    build: Callable[[], nn.Module]
    sample: tuple[int, ...]  # of pixels, or of words: one number
    words: int = 0  # how many there are; 0: the network is given pixels
    batch: int = 16
    target: str = "class"  # "class", "map" (one of each pixel), "next" (word), "own loss"
    optimizer: str = "AdamW"


class UNet(nn.Module):
    def __init__(self, width: int = 32, depth: int = 4) -> None:
        super().__init__()
        widths = [width << level for level in range(depth + 1)]
        self.first = self.double(3, width)
        self.down = nn.ModuleList(self.double(a, b) for a, b in zip(widths, widths[1:]))
        self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths[:-1][::-1], widths[1:][::-1]))
        self.merge = nn.ModuleList(self.double(2 * a, a) for a in widths[:-1][::-1])
        self.last = nn.Conv2d(width, CLASSES, 1)

    @staticmethod
    def double(before: int, after: int) -> nn.Sequential:
        parts: list[nn.Module] = []
        for width in (before, after):
            parts += [nn.Conv2d(width, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
        return nn.Sequential(*parts)

    def forward(self, x: Tensor) -> Tensor:
        kept = [self.first(x)]
        for down in self.down:
            kept.append(down(nn.functional.max_pool2d(kept[-1], 2)))
        x = kept.pop()
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([kept.pop(), up(x)], 1))
        return self.last(x)


class Recurrent(nn.Module):
    def __init__(self, width: int = 512, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.lstm(self.embedding(words))[0])


class Encoder(nn.Module):
    def __init__(self, width: int = 512, layers: int = 6) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, words: Tensor) -> Tensor:
        return self.head(self.layers(self.embedding(words)).mean(1))


class Volumes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        widths = [1, 16, 32, 64]
        self.parts = nn.Sequential(
            *(
                nn.Sequential(nn.Conv3d(a, b, 3, padding=1), nn.BatchNorm3d(b), nn.ReLU(), nn.MaxPool3d(2))
                for a, b in zip(widths, widths[1:])
            )
        )
        self.head = nn.Linear(widths[-1], CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.parts(x).mean((2, 3, 4)))


class Autoencoder(nn.Module):
    """Its own loss: what it makes of its input against the input."""

    def __init__(self) -> None:
        super().__init__()
        widths = [3, 32, 64, 128]
        pairs = list(zip(widths, widths[1:]))
        self.encoder = nn.Sequential(*(part for a, b in pairs for part in (nn.Conv2d(a, b, 4, 2, 1), nn.GELU())))
        self.decoder = nn.Sequential(
            *(part for a, b in pairs[::-1] for part in (nn.GELU(), nn.ConvTranspose2d(b, a, 4, 2, 1)))
        )

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.mse_loss(self.decoder(self.encoder(x)), x)


class Perceptron(nn.Sequential):
    def __init__(self) -> None:
        widths = [3072, 4096, 4096, 4096]
        layers = [part for a, b in zip(widths, widths[1:]) for part in (nn.Linear(a, b), nn.ReLU(), nn.Dropout())]
        super().__init__(nn.Flatten(), *layers, nn.Linear(widths[-1], CLASSES))


class Logits(nn.Module):
    """A network of transformers, without what it returns beside its logits."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, words: Tensor) -> Tensor:
        return self.network(words).logits


def _torchvision(name: str, **options: Any) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        from torchvision import models

        return models.get_model(name, weights=None, num_classes=CLASSES, **options)

    return build


class _Map(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)["out"]


def _map(name: str) -> Callable[[], nn.Module]:
    return lambda: _Map(_torchvision(name, weights_backbone=None)())


def _timm(name: str) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        import timm

        return timm.create_model(name, pretrained=False, num_classes=CLASSES)

    return build


def _transformers(config: str, network: str, **options: Any) -> Callable[[], nn.Module]:
    def build() -> nn.Module:
        import transformers

        return Logits(getattr(transformers, network)(getattr(transformers, config)(**options)))

    return build


_SMALL = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 6, "intermediate_size": 1536}
_PIXELS = (3, 224, 224)

JOBS = {
    "resnet18": Job(_torchvision("resnet18"), _PIXELS, batch=32, optimizer="SGD"),
    "resnet50": Job(_torchvision("resnet50"), _PIXELS, batch=16, optimizer="SGD"),
    "vgg11_bn": Job(_torchvision("vgg11_bn"), _PIXELS, batch=16, optimizer="SGD"),
    "mobilenet_v3_small": Job(_torchvision("mobilenet_v3_small"), _PIXELS, batch=64, optimizer="RMSprop"),
    "shufflenet_v2": Job(_torchvision("shufflenet_v2_x1_0"), _PIXELS, batch=64, optimizer="SGD"),
    "squeezenet": Job(_torchvision("squeezenet1_1"), _PIXELS, batch=64, optimizer="SGD"),
    "densenet121": Job(_torchvision("densenet121"), _PIXELS, batch=16, optimizer="SGD"),
    "efficientnet_b0": Job(_torchvision("efficientnet_b0"), _PIXELS, batch=32),
    "convnext_tiny": Job(_torchvision("convnext_tiny"), _PIXELS, batch=16),
    "swin_t": Job(_torchvision("swin_t"), _PIXELS, batch=16),
    "vit_b_16": Job(_torchvision("vit_b_16"), _PIXELS, batch=16),
    "fcn_resnet50": Job(_map("fcn_resnet50"), (3, 256, 256), batch=4, target="map", optimizer="SGD"),
    "deeplabv3": Job(_map("deeplabv3_mobilenet_v3_large"), (3, 256, 256), batch=16, target="map", optimizer="SGD"),
    "mixer_s16": Job(_timm("mixer_s16_224"), _PIXELS, batch=32),
    "deit_tiny": Job(_timm("deit_tiny_patch16_224"), _PIXELS, batch=64),
    "regnety_008": Job(_timm("regnety_008"), _PIXELS, batch=32, optimizer="SGD"),
    "poolformer_s12": Job(_timm("poolformer_s12"), _PIXELS, batch=32),
    "seresnet50": Job(_timm("seresnet50"), _PIXELS, batch=16, optimizer="SGD"),
    "coat_lite_tiny": Job(_timm("coat_lite_tiny"), _PIXELS, batch=32),
    "bert": Job(_transformers("BertConfig", "BertForMaskedLM", **_SMALL), (128,), 30522, 16, "next"),
    "gpt2": Job(
        _transformers("GPT2Config", "GPT2LMHeadModel", n_embd=384, n_layer=6, n_head=6), (256,), 50257, 8, "next"
    ),
    "llama": Job(_transformers("LlamaConfig", "LlamaForCausalLM", **_SMALL), (256,), VOCABULARY, 8, "next"),
    "electra": Job(
        _transformers("ElectraConfig", "ElectraForSequenceClassification", num_labels=CLASSES, **_SMALL),
        (256,),
        30522,
        32,
    ),
    "vit_transformers": Job(
        _transformers("ViTConfig", "ViTForImageClassification", num_labels=CLASSES, **_SMALL), _PIXELS, batch=32
    ),
    "segformer": Job(
        _transformers("SegformerConfig", "SegformerForSemanticSegmentation", num_labels=CLASSES),
        (3, 256, 256),
        0,
        16,
        "coarse map",
    ),
    "unet": Job(UNet, (3, 256, 256), batch=8, target="map"),
    "lstm": Job(Recurrent, (64,), VOCABULARY, 32, "next"),
    "encoder": Job(Encoder, (256,), VOCABULARY, 32),
    "volumes": Job(Volumes, (1, 64, 64, 64), batch=8),
    "autoencoder": Job(Autoencoder, (3, 256, 256), batch=32, target="own loss"),
    "perceptron": Job(Perceptron, (3, 32, 32), batch=4096, optimizer="Adam"),
}
