"""PP-LiteSeg (Peng et al., "PP-LiteSeg: A Superior Real-Time Semantic Segmentation Model", arXiv 2204.02681).

An STDC backbone, a Simple Pyramid Pooling Module (SPPM) on its deepest features, and a Flexible and Lightweight
Decoder (FLD) whose three Unified Attention Fusion Modules (UAFM) get narrower towards the output. While training,
every level has its own segmentation head.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stdc import ConvBNReLU, STDCNet, stdc1, stdc2


class SPPM(nn.Module):
    """Pools to 1x1, 2x2 and 4x4, projects each, adds them up at the input's size."""

    def __init__(self, in_channels: int, out_channels: int, bins: tuple[int, ...] = (1, 2, 4)) -> None:
        super().__init__()
        self.stages = nn.ModuleList(
            [
                nn.Sequential(nn.AdaptiveAvgPool2d(size), ConvBNReLU(in_channels, out_channels, kernel=1, bias=True))
                for size in bins
            ]
        )
        self.conv_out = ConvBNReLU(out_channels, out_channels, bias=True)

    def forward(self, x: Tensor) -> Tensor:
        pooled = [F.interpolate(stage(x), x.shape[2:], mode="bilinear", align_corners=False) for stage in self.stages]
        return self.conv_out(torch.stack(pooled).sum(dim=0))


class UAFM(nn.Module):
    """Fuses low-level features ``x`` with upsampled high-level features ``y`` by spatial attention.

    The attention map comes from the mean and maximum over channels of both: out = a * x + (1 - a) * y.
    """

    def __init__(self, x_channels: int, y_channels: int, out_channels: int) -> None:
        super().__init__()
        self.conv_x = ConvBNReLU(x_channels, y_channels)
        self.attention = nn.Sequential(
            ConvBNReLU(4, 2), nn.Conv2d(2, 1, 3, padding=1, bias=False), nn.BatchNorm2d(1), nn.Sigmoid()
        )
        self.conv_out = ConvBNReLU(y_channels, out_channels)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x = self.conv_x(x)
        y = F.interpolate(y, x.shape[2:], mode="bilinear", align_corners=False)
        statistics = [
            x.mean(1, keepdim=True),
            x.amax(1, keepdim=True),
            y.mean(1, keepdim=True),
            y.amax(1, keepdim=True),
        ]
        weight = self.attention(torch.cat(statistics, dim=1))
        return self.conv_out(x * weight + y * (1 - weight))


class SegHead(nn.Sequential):
    def __init__(self, in_channels: int, mid_channels: int, classes: int) -> None:
        super().__init__(ConvBNReLU(in_channels, mid_channels), nn.Conv2d(mid_channels, classes, 1, bias=False))


class PPLiteSeg(nn.Module):
    """Images (N, 3, H, W) to logits at full size.

    Training mode returns one (N, classes, H, W) tensor for each of the levels 1/8, 1/16 and 1/32; evaluation mode
    returns the first only.
    """

    def __init__(
        self,
        backbone: STDCNet,
        decoder_channels: tuple[int, int, int],
        head_channels: tuple[int, int, int],
        classes: int = 19,
        context_channels: int = 128,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.context = SPPM(backbone.channels[-1], context_channels)
        deeper = (*decoder_channels[1:], context_channels)
        self.fusions = nn.ModuleList(
            [UAFM(x, y, out) for x, y, out in zip(backbone.channels, deeper, decoder_channels)]
        )
        self.heads = nn.ModuleList([SegHead(d, h, classes) for d, h in zip(decoder_channels, head_channels)])

    def forward(self, images: Tensor) -> list[Tensor] | Tensor:
        features = self.backbone(images)
        out = self.context(features[-1])
        decoded: list[Tensor] = []
        for feature, fusion in zip(reversed(features), reversed(self.fusions)):
            out = fusion(feature, out)
            decoded.insert(0, out)
        if not self.training:
            return self._upsample(self.heads[0](decoded[0]), images)
        return [self._upsample(head(level), images) for head, level in zip(self.heads, decoded)]

    @staticmethod
    def _upsample(logits: Tensor, images: Tensor) -> Tensor:
        return F.interpolate(logits, images.shape[2:], mode="bilinear", align_corners=False)


def pp_liteseg_t(classes: int = 19) -> PPLiteSeg:
    return PPLiteSeg(stdc1(), decoder_channels=(32, 64, 128), head_channels=(32, 64, 64), classes=classes)


def pp_liteseg_b(classes: int = 19) -> PPLiteSeg:
    return PPLiteSeg(stdc2(), decoder_channels=(64, 96, 128), head_channels=(64, 64, 64), classes=classes)


MODELS = {"t": pp_liteseg_t, "b": pp_liteseg_b}
