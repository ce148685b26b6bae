"""Keys and values that a model keeps from token to token are called a cache: exact bytes, of PyTorch's own blocks."""

from __future__ import annotations

import pytest
from held_at_peak import held_at_peak
from hooked_job import Job

pytestmark = pytest.mark.by_release

CARD = 8 << 30
MIB = 1 << 20

CACHE = """
import torch

class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.to_keys = torch.nn.Linear(256, 256, bias=False)
        self.KEPT = None

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(4))

    def forward(self, x, state=None):
        new = []
        for i, layer in enumerate(self.layers):
            keys = layer.to_keys(x)
            new.append(self.put(layer, state, i, keys))
            x = keys
        return x, new

    PUT

model = Model().cuda()
SETUP
x = torch.zeros(8, 1024, 4, 256, device="cuda")
with torch.no_grad():
    for _ in range(4):
        LOOP
        x = torch.zeros(8, 1, 4, 256, device="cuda")
"""

# Each pair of keys and values: 8 x 1024 x 4 x 256 floats and more, times two, times four layers.
GROWING = """def put(self, layer, state, i, keys):
        if state is None: return keys.clone(), keys.clone()
        return tuple(torch.cat([each, keys], 1) for each in state[i])"""
IN_PLACE = """def put(self, layer, state, i, keys):
        state[i][0][:, :keys.shape[1]] = keys
        state[i][1][:, :keys.shape[1]] = keys"""
ROOM = "[(torch.zeros(8, 2048, 4, 256, device='cuda'), torch.zeros(8, 2048, 4, 256, device='cuda')) for _ in range(4)]"
CACHES = {
    "grown and handed back": (GROWING, "handed = None", "_, handed = model(x, handed)", "KEPT"),
    "written in place": (IN_PLACE, f"handed = {ROOM}", "model(x, handed)", "KEPT"),
    "attribute": (
        "def put(self, layer, state, i, keys): layer.kv_cache[0][:, :keys.shape[1]] = keys",
        f"for layer, pair in zip(model.layers, {ROOM}): layer.kv_cache = pair\ndel pair, layer",
        "model(x)",
        "kv_cache",
    ),
}


@pytest.mark.parametrize("kind", CACHES)
def test_keys_and_values(job: Job, kind: str) -> None:
    put, setup, loop, kept = CACHES[kind]
    script = CACHE.replace("PUT", put).replace("SETUP", setup).replace("LOOP", loop).replace("KEPT", kept)
    held = held_at_peak(job.run(script, card=CARD))
    if kind == "grown and handed back":
        # At its fullest in the last forward: those of 1026 tokens, and of 1027 that it has made of them.
        token = 8 * 4 * 256 * 4
        assert held.bytes["cache"] == pytest.approx(8 * (1026 + 1027) * token, rel=0.01)
    else:
        assert held.bytes["cache"] == 8 * 64 * MIB


def test_lists_of_images_are_no_cache(job: Job) -> None:
    script = """
    import torch
    class Detector(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 8, 3)
        def forward(self, images):
            return [self.conv(image) for image in images]
    model = Detector().cuda()
    with torch.no_grad():
        for size in (512, 544, 576):
            model([torch.zeros(1, 3, size, size, device="cuda") for _ in range(4)])
    """
    assert "cache" not in held_at_peak(job.run(script, card=CARD)).bytes
