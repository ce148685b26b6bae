"""Layers and losses on the card: convolutions, normalisation, recurrent networks, attention, sampling, losses."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from operator_check import DEVICE, check_backward, check_module, make, needs_card, tensors_in
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

pytestmark = needs_card
f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
NHWC, NDHWC = torch.channels_last, torch.channels_last_3d

CONVOLUTIONS = {
    "1d": (lambda: nn.Conv1d(4, 8, 3), (2, 4, 80)),
    "2d": (lambda: nn.Conv2d(3, 16, 7, 2, 3), (2, 3, 64, 64)),
    "3d": (lambda: nn.Conv3d(3, 8, 3), (2, 3, 8, 16, 16)),
    "transposed 1d": (lambda: nn.ConvTranspose1d(4, 8, 3), (2, 4, 40)),
    "transposed 2d": (lambda: nn.ConvTranspose2d(16, 8, 3, 2), (2, 16, 12, 12)),
    "transposed 3d": (lambda: nn.ConvTranspose3d(4, 8, 3), (2, 4, 6, 6, 6)),
    "grouped": (lambda: nn.Conv2d(16, 16, 3, groups=4), (2, 16, 28, 28)),
    "depthwise": (lambda: nn.Conv2d(16, 16, 3, groups=16), (2, 16, 28, 28)),
    "dilated": (lambda: nn.Conv2d(4, 8, 3, dilation=2), (2, 4, 28, 28)),
    "pointwise": (lambda: nn.Conv2d(16, 8, 1, bias=False), (2, 16, 28, 28)),
    "same padding": (lambda: nn.Conv2d(4, 8, 4, padding="same"), (2, 4, 28, 28)),
}


@pytest.mark.parametrize("mode", ["cudnn", "native", "benchmark", "deterministic"])
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name, mode) -> None:
    build, shape = CONVOLUTIONS[name]
    options = {"enabled": mode != "native", "benchmark": mode == "benchmark", "deterministic": mode == "deterministic"}
    with torch.backends.cudnn.flags(**options):
        check_module(build(), shape)


@pytest.mark.parametrize("dtype", [f16, bf16, f64], ids=str)
@pytest.mark.parametrize("name", ["1d", "2d", "3d", "transposed 2d", "grouped", "depthwise"])
def test_convolutions_of_other_types(name, dtype) -> None:
    build, shape = CONVOLUTIONS[name]
    check_module(build(), shape, dtype)


@pytest.mark.parametrize("dtype", [f32, f16, bf16], ids=str)
@pytest.mark.parametrize("name", ["2d", "grouped", "depthwise", "transposed 2d"])
def test_convolutions_in_channels_last(name, dtype) -> None:
    build, shape = CONVOLUTIONS[name]
    output = check_module(build(), shape, dtype, memory_format=NHWC)
    assert output.is_contiguous(memory_format=NHWC)


NORMS = {
    "batch 1d": (lambda: nn.BatchNorm1d(16), (4, 16, 20)),
    "batch 2d": (lambda: nn.BatchNorm2d(16), (4, 16, 14, 14)),
    "batch 3d": (lambda: nn.BatchNorm3d(4), (2, 4, 6, 6, 6)),
    "layer": (lambda: nn.LayerNorm(64), (4, 10, 64)),
    "group": (lambda: nn.GroupNorm(4, 16), (4, 16, 14, 14)),
    "instance": (lambda: nn.InstanceNorm2d(16, affine=True), (4, 16, 14, 14)),
    "rms": (lambda: nn.RMSNorm(64), (4, 10, 64)),
    "local response": (lambda: nn.LocalResponseNorm(2), (4, 16, 14, 14)),
}


@pytest.mark.parametrize("cudnn", [True, False])
@pytest.mark.parametrize("name", NORMS)
def test_normalisation(name, cudnn) -> None:
    with torch.backends.cudnn.flags(enabled=cudnn):
        check_module(NORMS[name][0](), NORMS[name][1])


@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
def test_batch_normalisation_in_channels_last(dtype) -> None:
    norm = nn.BatchNorm2d(16, device=DEVICE)
    x = make((4, 16, 14, 14), dtype, DEVICE).to(memory_format=NHWC).requires_grad_()
    with torch.autocast(DEVICE, dtype):
        output = norm(x)
    assert output.dtype == dtype and output.is_contiguous(memory_format=NHWC)
    output.float().sum().backward()
    assert norm.weight.grad is not None
    assert norm.eval()(x).shape == x.shape


LAYERS = {
    "max pool": (lambda: nn.MaxPool2d(3, 2, 1), (2, 8, 28, 28)),
    "max pool 1d": (lambda: nn.MaxPool1d(2), (2, 8, 28)),
    "max pool 3d": (lambda: nn.MaxPool3d(2), (2, 4, 8, 8, 8)),
    "average pool": (lambda: nn.AvgPool2d(2), (2, 8, 28, 28)),
    "adaptive average": (lambda: nn.AdaptiveAvgPool2d(1), (2, 8, 28, 28)),
    "adaptive max": (lambda: nn.AdaptiveMaxPool2d(4), (2, 8, 28, 28)),
    "fractional pool": (lambda: nn.FractionalMaxPool2d(2, output_size=8), (2, 8, 28, 28)),
    "pixel shuffle": (lambda: nn.PixelShuffle(2), (2, 8, 14, 14)),
    "upsample": (lambda: nn.Upsample(scale_factor=2), (2, 8, 14, 14)),
    "dropout": (lambda: nn.Dropout(0.1), (20, 30)),
    "dropout 2d": (lambda: nn.Dropout2d(0.1), (2, 8, 14, 14)),
    "prelu": (lambda: nn.PReLU(), (20, 30)),
    "bilinear upsample": (lambda: nn.UpsamplingBilinear2d(scale_factor=2), (2, 8, 14, 14)),
    "reflection pad": (lambda: nn.ReflectionPad2d(2), (2, 8, 14, 14)),
    "replication pad": (lambda: nn.ReplicationPad2d(2), (2, 8, 14, 14)),
    "unfold": (lambda: nn.Unfold(3), (2, 8, 14, 14)),
    "fold": (lambda: nn.Fold((8, 8), 3), (2, 18, 36)),
    "glu": (lambda: nn.GLU(), (20, 30)),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), (2, 10, 32)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name) -> None:
    check_module(LAYERS[name][0](), LAYERS[name][1])


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic", "area", "nearest-exact"])
def test_interpolation(mode) -> None:
    check_backward(lambda a: F.interpolate(a, scale_factor=2, mode=mode), [(2, 4, 10, 10)])


@pytest.mark.parametrize("cudnn", [True, False])
def test_grid_sampling(cudnn) -> None:
    with torch.backends.cudnn.flags(enabled=cudnn):
        grid = F.affine_grid(
            torch.eye(2, 3, device=DEVICE).repeat(2, 1, 1).requires_grad_(), [2, 4, 8, 8], align_corners=True
        )
        x = torch.ones(2, 4, 8, 8, device=DEVICE, requires_grad=True)
        F.grid_sample(x, grid, align_corners=True).sum().backward()
    assert x.grad is not None


@pytest.mark.parametrize("dtype", [f32, f16], ids=str)
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_networks(kind, bidirectional, dtype) -> None:
    check_module(kind(32, 64, 2, batch_first=True, dropout=0.1, bidirectional=bidirectional), (4, 10, 32), dtype)


@pytest.mark.parametrize("cudnn", [True, False])
def test_a_projected_lstm_and_one_without_bias(cudnn) -> None:
    with torch.backends.cudnn.flags(enabled=cudnn):
        check_module(nn.LSTM(32, 64, 2, proj_size=16), (10, 4, 32))
        check_module(nn.LSTM(32, 64, bias=False), (10, 4, 32))
        check_module(nn.GRU(32, 64), (10, 4, 32))


def test_packed_sequences() -> None:
    packed = nn.utils.rnn.pack_padded_sequence(torch.ones(4, 10, 32, device=DEVICE), [10, 8, 5, 2], batch_first=True)
    output, _ = nn.LSTM(32, 64, batch_first=True, device=DEVICE)(packed)
    assert output.data.shape == (25, 64)
    assert nn.utils.rnn.pad_packed_sequence(output, batch_first=True)[0].shape == (4, 10, 64)


def test_recurrent_cells() -> None:
    assert nn.LSTMCell(8, 16, device=DEVICE)(torch.ones(4, 8, device=DEVICE))[0].shape == (4, 16)
    assert nn.GRUCell(8, 16, device=DEVICE)(torch.ones(4, 8, device=DEVICE)).shape == (4, 16)


ATTENTION = [
    (SDPBackend.FLASH_ATTENTION, f16),
    (SDPBackend.FLASH_ATTENTION, bf16),
    (SDPBackend.EFFICIENT_ATTENTION, f16),
    (SDPBackend.EFFICIENT_ATTENTION, f32),
    (SDPBackend.MATH, f32),
    (SDPBackend.MATH, f16),
    (SDPBackend.CUDNN_ATTENTION, f16),
    (SDPBackend.CUDNN_ATTENTION, bf16),
]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("backend", "dtype"), ATTENTION)
def test_attention(backend, dtype, causal) -> None:
    with sdpa_kernel(backend):
        check_backward(
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal), [(2, 4, 128, 64)] * 3, dtype
        )


def test_attention_without_a_choice_keeps_no_scores() -> None:
    q = torch.ones(1, 4, 2048, 64, device=DEVICE, dtype=f16, requires_grad=True)
    before = torch.cuda.memory_allocated()
    output = F.scaled_dot_product_attention(q, q, q, is_causal=True)
    assert output.shape == q.shape
    scores = 4 * 2048 * 2048 * 2
    assert torch.cuda.memory_allocated() - before < scores


def test_multi_head_attention() -> None:
    layer = nn.MultiheadAttention(64, 8, batch_first=True, device=DEVICE)
    x = torch.ones(2, 10, 64, device=DEVICE)
    assert [tuple(t.shape) for t in tensors_in(layer(x, x, x))] == [(2, 10, 64), (2, 10, 10)]


TARGETS = {
    "classes": lambda: torch.zeros(20, dtype=torch.long),
    "same": lambda: torch.zeros(20, 10),
    "signs": lambda: torch.ones(20),
}
LOSSES = {
    "cross_entropy": (F.cross_entropy, "classes"),
    "nll": (F.nll_loss, "classes"),
    "mse": (F.mse_loss, "same"),
    "l1": (F.l1_loss, "same"),
    "smooth_l1": (F.smooth_l1_loss, "same"),
    "huber": (F.huber_loss, "same"),
    "bce": (lambda a, t: F.binary_cross_entropy(a.sigmoid(), t), "same"),
    "bce logits": (F.binary_cross_entropy_with_logits, "same"),
    "kl": (F.kl_div, "same"),
    "poisson": (F.poisson_nll_loss, "same"),
    "multi margin": (F.multi_margin_loss, "classes"),
    "soft margin": (F.soft_margin_loss, "same"),
    "multilabel": (F.multilabel_soft_margin_loss, "same"),
    "smoothed": (lambda a, t: F.cross_entropy(a, t, label_smoothing=0.1), "classes"),
    "cosine": (lambda a, t: F.cosine_embedding_loss(a, a.detach(), t), "signs"),
    "triplet": (lambda a, t: F.triplet_margin_loss(a, a * 2, a * 3), "same"),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name) -> None:
    function, target = LOSSES[name]
    x = torch.ones(20, 10, device=DEVICE, requires_grad=True)
    loss = function(x, TARGETS[target]().to(DEVICE))
    assert loss.shape == () and loss.dtype == f32 and loss.item() == 0.0  # kernels do nothing
    loss.backward()
    assert x.grad is not None


@pytest.mark.parametrize("targets_on", ["cpu", "cuda"])
@pytest.mark.parametrize(("blank", "lengths_on"), [(0, "cuda"), (19, "cpu")], ids=["cudnn", "native"])
def test_ctc_loss(blank, lengths_on, targets_on) -> None:
    # PyTorch takes cuDNN for blank 0, 32-bit targets in one row, and then wants the lengths on the card.
    x = torch.ones(50, 4, 20, device=DEVICE, requires_grad=True)
    targets = torch.ones(40, dtype=torch.int32, device=targets_on)
    lengths = [torch.full((4,), n, dtype=torch.int32, device=lengths_on) for n in (50, 10)]
    F.ctc_loss(x.log_softmax(-1), targets, *lengths, blank=blank).backward()
    assert x.grad is not None and x.grad.shape == x.shape


def test_operators_of_torchvision() -> None:
    from torchvision import ops

    boxes = torch.tensor([[0.0, 0.0, 4.0, 4.0], [1.0, 1.0, 5.0, 5.0]], device=DEVICE)
    features = torch.ones(1, 8, 16, 16, device=DEVICE, requires_grad=True)
    pooled = ops.roi_align(features, [boxes], output_size=4)
    assert pooled.shape == (2, 8, 4, 4)
    pooled.sum().backward()
    assert features.grad is not None
    assert ops.roi_pool(features, [boxes], output_size=4).shape == (2, 8, 4, 4)
    assert ops.nms(boxes, torch.tensor([0.9, 0.8], device=DEVICE), 0.5).dim() == 1
    assert ops.box_iou(boxes, boxes).shape == (2, 2)
    assert ops.deform_conv2d(
        torch.ones(1, 4, 8, 8, device=DEVICE),
        torch.zeros(1, 18, 6, 6, device=DEVICE),
        torch.ones(4, 4, 3, 3, device=DEVICE),
    ).shape == (1, 4, 6, 6)
