"""STDC backbones (Fan et al., "Rethinking BiSeNet For Real-time Semantic Segmentation", arXiv 2104.13188)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ConvBNReLU(nn.Sequential):
    """Convolution, batch norm, ReLU; the spatial size is kept when ``stride`` is 1."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel: int = 3, stride: int = 1, bias: bool = False
    ) -> None:
        super().__init__(
            nn.Conv2d(in_channels, out_channels, kernel, stride, padding=kernel // 2, bias=bias),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
        )


class CatBottleneck(nn.Module):
    """The short-term dense concatenate block.

    Four convolutions whose widths halve (1/2, 1/4, 1/8, 1/8 of ``out_channels``); their outputs are concatenated, so
    the block sees several receptive fields at the price of one. With ``stride`` 2 the first output is pooled and the
    second convolution reads a depthwise-downsampled one.
    """

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1) -> None:
        super().__init__()
        half, quarter, eighth = out_channels // 2, out_channels // 4, out_channels // 8
        self.reduce = ConvBNReLU(in_channels, half, kernel=1)
        self.convs = nn.ModuleList([ConvBNReLU(half, quarter), ConvBNReLU(quarter, eighth), ConvBNReLU(eighth, eighth)])
        self.stride = stride
        if stride == 2:
            self.downsample = nn.Sequential(
                nn.Conv2d(half, half, 3, stride=2, padding=1, groups=half, bias=False), nn.BatchNorm2d(half)
            )
            self.skip = nn.AvgPool2d(3, stride=2, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        first = self.reduce(x)
        out = self.downsample(first) if self.stride == 2 else first
        outputs = [self.skip(first) if self.stride == 2 else first]
        for conv in self.convs:
            out = conv(out)
            outputs.append(out)
        return torch.cat(outputs, dim=1)


class STDCNet(nn.Module):
    """Returns features at 1/8, 1/16 and 1/32 of the input size; ``channels`` are their widths."""

    def __init__(self, blocks: tuple[int, int, int], base: int = 64) -> None:
        super().__init__()
        self.channels = (base * 4, base * 8, base * 16)
        self.stem = nn.Sequential(ConvBNReLU(3, base // 2, stride=2), ConvBNReLU(base // 2, base, stride=2))
        self.stage3 = self._stage(base, base * 4, blocks[0])
        self.stage4 = self._stage(base * 4, base * 8, blocks[1])
        self.stage5 = self._stage(base * 8, base * 16, blocks[2])

    @staticmethod
    def _stage(in_channels: int, out_channels: int, count: int) -> nn.Sequential:
        rest = [CatBottleneck(out_channels, out_channels) for _ in range(count - 1)]
        return nn.Sequential(CatBottleneck(in_channels, out_channels, stride=2), *rest)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        x8 = self.stage3(self.stem(x))
        x16 = self.stage4(x8)
        return x8, x16, self.stage5(x16)


def stdc1() -> STDCNet:
    return STDCNet(blocks=(2, 2, 2))


def stdc2() -> STDCNet:
    return STDCNet(blocks=(4, 5, 3))
