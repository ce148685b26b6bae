"""torch.compile, CUDA graph trees and Triton kernels on a virtual card: real compilers, kernels that do nothing."""

from __future__ import annotations

import functools
import importlib.util
import shutil
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from card_run import MIB, run_script

pytestmark = [
    pytest.mark.by_release,
    pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="this environment has no triton"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="triton compiles its launcher with gcc"),
    pytest.mark.skipif(
        not (Path(sysconfig.get_paths()["include"]) / "Python.h").exists(), reason="Python's headers are not installed"
    ),
]


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("compilers")
    return {
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "inductor"),
        "TRITON_CACHE_DIR": str(folder / "triton"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }


@pytest.fixture(scope="module")
def compiled(caches: dict[str, str]) -> Callable[[str], dict[str, Any]]:
    """What the network compiled in this way says; one run for all who ask."""
    return functools.cache(lambda kind: run_script("compiled.py", kind, variables=caches).line())


def test_a_kernel_written_by_hand_is_compiled_and_launched(caches: dict[str, str]) -> None:
    line = run_script("triton_kernel.py", variables=caches).line()
    assert line["cubin_bytes"] > 1000
    assert line["peak_allocated"] == 3 * 4 * MIB


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("default", marks=pytest.mark.long),
        "reduce-overhead",
        pytest.param("dynamic", marks=pytest.mark.long),
    ],
)
def test_inductor_compiles_and_trains(kind: str, compiled: Callable[[str], dict[str, Any]]) -> None:
    line = compiled(kind)
    assert line["graphs"] >= 1
    weights = 4 * (64 * 256 + 256 + 2 * 256 + 256 * 10 + 10)
    assert line["peak_allocated"] > 3 * weights  # weights and AdamW's two moments at least


@pytest.mark.long
def test_dynamic_shapes_compile_once_for_all_batches(compiled: Callable[[str], dict[str, Any]]) -> None:
    assert compiled("dynamic")["graphs"] == 1
