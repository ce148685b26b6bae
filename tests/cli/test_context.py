"""What a process holds besides PyTorch's memory: charged when it is used, read from a log, compared by doctor."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from oom_text import MESSAGE
from product import Product, strict_schema

pytestmark = pytest.mark.warm

MIB = 1 << 20


def log(product: Product, *sizes: tuple[float, float, float], total: float = 23.69) -> Path:
    """A log with a message of each (process, allocated, idle), from its third line on."""
    path = product.folder / "train.log"
    text = "epoch 1\nepoch 2\n"
    for process, allocated, idle in sizes:
        text += MESSAGE.format(total=total, process=process, allocated=allocated, idle=idle)
    path.write_text(text)
    return path


def run_card(product: Product, text: str, *options: str) -> tuple[dict[str, Any], list[str]]:
    """The card of a run, and what was assumed."""
    finished = product.run(text, gpu="rtx3090", options=options)
    assert finished.exit_code == 0, finished
    return finished.result["devices"][0], [remark["text"] for remark in finished.result["assumed"]]


@pytest.fixture
def figures(product: Product) -> dict[str, int]:
    cards = json.loads(product.call("gpus", "--json", "-").stdout)["cards"]
    return next(card for card in cards if card["key"] == "rtx3090")["overhead"]["13"]


USES = {
    "a copy alone": ("x = torch.empty(1024).cuda()", 0, 0),
    "a kernel": ("x = torch.empty(1024, device='cuda').fill_(1)", 1, 0),
    "a product": ("x = torch.zeros(64, 64, device='cuda'); x @ x; x @ x", 1, 1),
    "a convolution": ("torch.nn.Conv2d(3, 8, 3).cuda()(torch.zeros(1, 3, 32, 32, device='cuda'))", 1, 1),
    "a product and a convolution": (
        "x = torch.zeros(1, 3, 32, 32, device='cuda'); torch.nn.Conv2d(3, 8, 3).cuda()(x); x[0, 0] @ x[0, 1]",
        1,
        2,
    ),
}


@pytest.mark.parametrize("use", USES)
def test_kernels_and_libraries_are_charged_when_they_are_used(
    product: Product, figures: dict[str, int], use: str
) -> None:
    code, kernels, libraries = USES[use]
    device, assumed = run_card(product, f"import torch\n{code}\ntorch.cuda.synchronize()\n")
    assert device["library_bytes"] == kernels * figures["kernel_bytes"] + libraries * figures["library_bytes"]
    assert device["context_bytes"] == figures["context_lazy_bytes"]
    uncertainty = figures["context_uncertainty_bytes"] + device["library_bytes"] // 2
    assert device["context_uncertainty_bytes"] == uncertainty
    assert any("from its first kernel on" in text for text in assumed)


def test_a_graph_holds_memory_for_its_kernels(product: Product, figures: dict[str, int]) -> None:
    script = """
        import torch
        x = torch.zeros(1024, device="cuda")
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(100):
                x.add_(1)
        graph.replay()
        torch.cuda.synchronize()
    """
    device, assumed = run_card(product, script)
    nodes = device["library_bytes"] - figures["kernel_bytes"]
    assert 100 * 10240 <= nodes < 104 * 10240  # PyTorch may add a node of its own for its generators
    assert any("CUDA graphs: 10 KiB" in text for text in assumed)


def test_a_log_of_the_users_own_card_replaces_the_estimates(product: Product) -> None:
    path = log(product, (15.42, 15.05, 76.56), (15.42, 15.01, 76.56))
    code = "import torch\nx = torch.zeros(64, 64, device='cuda')\nx @ x\n"
    device, assumed = run_card(product, code, "--context", f"from:{path}")
    held = round((15.42 - 15.01) * 1024 - 76.56, 2)
    assert device["context_bytes"] == pytest.approx(held * MIB, abs=MIB / 10)
    assert device["library_bytes"] == 0  # they are in it
    assert device["context_uncertainty_bytes"] == 5 * MIB
    assert any(
        "context and libraries" in text and "the largest of its 2 messages in line 4" in text for text in assumed
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("epoch 1 loss 0.3\n", "no out-of-memory message"),
        (MESSAGE.format(total=23.69, process=3.0, allocated=15.0, idle=10.0), "don't add up"),
    ],
)
@pytest.mark.parametrize("verb", ["run", "fit"])
def test_a_log_that_does_not_tell_is_refused(product: Product, verb: str, text: str, words: str) -> None:
    path = product.folder / "other.log"
    path.write_text(text)
    script = product.script("import torch\n")
    done = product.call(verb, "--gpu", "rtx3090", "--context", f"from:{path}", "--", "python", str(script))
    assert done.exit_code == 2, done
    assert words in done.stderr and str(path) in done.stderr


def diagnosis(product: Product, *words: str) -> dict[str, Any]:
    report = product.folder / "doctor.json"
    done = product.call("doctor", "--json", str(report), *words)
    assert done.exit_code == 1, done
    result = json.loads(report.read_text())
    jsonschema.validate(result, strict_schema("doctor"))
    result["shown"] = " ".join(done.stdout.split())
    return result


def test_doctor_shows_what_context_and_libraries_held_beside_what_is_charged(product: Product) -> None:
    path = log(product, (15.42, 15.05, 76.56))
    shown = diagnosis(product, str(path), "--gpu", "rtx3090")
    (held,) = shown["context_and_libraries"]
    assert held["held_bytes"] == pytest.approx(((15.42 - 15.05) * 1024 - 76.56) * MIB, abs=MIB / 10)
    assert held["low_bytes"] < held["held_bytes"] < held["high_bytes"] < held["low_bytes"] + 25 * MIB
    assert held["line"] == 3 and held["cards"] == ["NVIDIA GeForce RTX 3090"]
    assert "Context and libraries" in shown["shown"] and "with kernels" in shown["shown"]
    assert "--context from:" in shown["shown"]


def test_doctor_knows_the_card_by_its_capacity(product: Product) -> None:
    (held,) = diagnosis(product, str(log(product, (13.0, 12.7, 180.0), total=14.56)))["context_and_libraries"]
    assert "Tesla T4" in held["cards"], held


def test_doctor_says_figures_that_do_not_add_up_to_be_that(product: Product) -> None:
    shown = diagnosis(product, str(log(product, (3.0, 15.05, 76.56))))
    (held,) = shown["context_and_libraries"]
    assert held["held_bytes"] is None and held["low_bytes"] is None
    assert "don't add up" in held["text"] and "--context from:" not in shown["shown"]


def test_a_message_of_another_card_is_refused(product: Product) -> None:
    path = log(product, (44.40, 43.50, 400.0), total=44.42)
    done = product.call("run", "--gpu", "rtx3090", "--context", f"from:{path}", "--", "python", "train.py")
    assert done.exit_code == 2 and "44.42 GiB" in done.stderr, done


@pytest.mark.parametrize("words", [["doctor"], ["run", "--gpu", "t4", "--context"]], ids=["doctor", "context"])
def test_a_pipe_that_nobody_writes_to_is_an_error(product: Product, tmp_path: Path, words: list[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    last = [f"from:{pipe}", "--", "python", "train.py"] if "--context" in words else [str(pipe)]
    done = product.call(*words, *last, timeout=60)
    assert done.exit_code != 0 and "pipe" in done.stderr, done
