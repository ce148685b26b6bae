"""`vramfit estimate` beside what runs take on a virtual card: both are printed, and how far apart they are.

None of these sizes was looked at when the figures of src/estimate were found, but for one: what the allocator reserves
beside tensors is that of all of them together.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from product import Product

# The range that an estimate tells: src/estimate/estimate.h, kUncertainty.
UNCERTAINTY = 0.2


@dataclass(frozen=True)
class Case:
    network: str
    options: tuple[str, ...]

    def __str__(self) -> str:
        return " ".join((self.network, *self.options)).replace("--", "")


IMAGES = [
    Case("resnet50", ("--batch", "16", "--precision", "fp32")),
    Case("resnet50", ("--batch", "12", "--size", "288")),
    Case("resnet18", ("--batch", "48", "--optimizer", "sgd-momentum", "--precision", "fp32")),
    Case(
        "vit_b_16",
        (
            "--batch",
            "12",
        ),
    ),
    Case("convnext_tiny", ("--batch", "16", "--precision", "fp32")),
    Case(
        "efficientnet_b0",
        (
            "--batch",
            "20",
        ),
    ),
    Case("mobilenet_v3_large", ("--batch", "64", "--precision", "fp32")),
    Case(
        "swin_t",
        (
            "--batch",
            "12",
        ),
    ),
    Case("resnet152", ("--batch", "32", "--task", "inference", "--precision", "bf16")),
]
# Hugging Face configurations, of sizes between those that were measured.
LLAMA = {"hidden_size": 1536, "num_hidden_layers": 10, "num_attention_heads": 12, "intermediate_size": 4096}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama", "vocab_size": 50000, **LLAMA},
    "mistral": {"model_type": "mistral", "vocab_size": 32000, "num_key_value_heads": 3, **LLAMA},
    "qwen3": {"model_type": "qwen3", "vocab_size": 100000, "num_key_value_heads": 6, "head_dim": 128, **LLAMA},
    "gpt2": {"model_type": "gpt2", "n_embd": 1024, "n_layer": 16, "n_head": 16, "vocab_size": 50257},
    "bert": {
        "model_type": "bert",
        "hidden_size": 1024,
        "num_hidden_layers": 16,
        "num_attention_heads": 16,
        "intermediate_size": 4096,
        "vocab_size": 30522,
    },
    # No fused kernel takes their attention: biased by position, capped, with one head of keys.
    "bloom": {"model_type": "bloom", "hidden_size": 768, "n_layer": 12, "n_head": 12, "vocab_size": 60000},
    "gemma2": {
        "model_type": "gemma2",
        "hidden_size": 1024,
        "num_hidden_layers": 8,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 128,
        "intermediate_size": 4096,
        "vocab_size": 120000,
        "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
    },
    "falcon": {
        "model_type": "falcon",
        "hidden_size": 768,
        "num_hidden_layers": 6,
        "num_attention_heads": 12,
        "multi_query": True,
        "vocab_size": 40000,
    },
    "deberta-v2": {
        "model_type": "deberta-v2",
        "hidden_size": 768,
        "num_hidden_layers": 8,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "vocab_size": 64000,
        "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1,
        "layer_norm_eps": 1e-7,
        "type_vocab_size": 0,
    },
}
TEXTS = [
    Case("llama", ("--batch", "3", "--sequence", "768")),
    Case("llama", ("--batch", "2", "--sequence", "1024", "--precision", "bf16")),
    Case("llama", ("--batch", "4", "--sequence", "1024", "--checkpointing")),
    Case("mistral", ("--batch", "2", "--sequence", "1024")),
    Case("qwen3", ("--batch", "2", "--sequence", "640")),
    Case("gpt2", ("--batch", "3", "--sequence", "768")),
    Case("bert", ("--batch", "6", "--sequence", "384", "--precision", "fp32")),
    Case("llama", ("--batch", "8", "--sequence", "2048", "--task", "inference")),
    Case("bloom", ("--batch", "2", "--sequence", "1536")),
    Case("gemma2", ("--batch", "1", "--sequence", "1536")),
    Case("gemma2", ("--batch", "2", "--sequence", "4096", "--task", "inference")),
    Case("falcon", ("--batch", "2", "--sequence", "1536")),
    Case("deberta-v2", ("--batch", "6", "--sequence", "384")),
    # It takes peft, which the environment of programs has.
    pytest.param(
        Case("llama", ("--batch", "2", "--sequence", "1024", "--task", "lora", "--checkpointing")),
        marks=pytest.mark.every_version,
    ),
]


def compare(product: Product, network: str, case: Case, card: str = "a100-80gb") -> None:
    words = [network, "--gpu", card, *case.options]
    estimated = product.call("estimate", *words, "--script", "train.py", "--json", "-")
    assert estimated.exit_code == 0, estimated
    told = json.loads(estimated.stdout)
    run = product.call("run", "--gpu", card, "--json", "run.json", "--", sys.executable, "train.py", timeout=600)
    result = json.loads((product.folder / "run.json").read_text())
    assert result["verdict"] == "fits", run
    peak = max(device["peak_device_bytes"] for device in result["devices"])
    error = told["peak_bytes"] / peak - 1
    print(f"\n{case}: estimated {told['peak_bytes'] / 2**30:.2f} GiB, run {peak / 2**30:.2f} GiB, {error:+.1%}")
    assert told["low_bytes"] <= peak <= told["high_bytes"], f"{case}: {error:+.1%}"


@pytest.mark.warm
@pytest.mark.parametrize("case", IMAGES, ids=str)
def test_a_network_with_a_name_is_near_its_run(product: Product, case: Case):
    compare(product, case.network, case)


def write_config(product: Product, network: str) -> str:
    folder = product.folder / network
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 4096, **CONFIGS[network]}))
    return str(folder)


@pytest.mark.parametrize("case", TEXTS, ids=str)
def test_a_configuration_is_near_its_run(product: Product, case: Case):
    compare(product, write_config(product, case.network), case)


def test_a_card_without_bfloat16_gets_a_script_in_fp16(product: Product):
    """In bfloat16 no fused kernel takes attention there, and its scores are most of what the job needs."""
    gpt2 = write_config(product, "gpt2")
    compare(product, gpt2, Case("gpt2", ("--batch", "3", "--sequence", "768")), "t4")
    refused = product.call("estimate", gpt2, "--gpu", "t4", "--precision", "bf16")
    assert refused.exit_code == 2
    assert "no bfloat16" in refused.stderr


def test_an_estimate_says_that_it_is_one_and_how_to_prove_it(product: Product):
    told = product.call("estimate", "resnet50", "--gpu", "GTX 1650", "--batch", "64")
    assert told.exit_code == 0
    assert "An estimate, no run" in " ".join(told.stdout.split())
    assert "vramfit run --gpu 'GTX 1650' -- python train_resnet50.py" in told.stdout
    assert all(len(line) <= 80 for line in told.stdout.splitlines() if "vramfit " not in line)


@pytest.mark.parametrize(
    ("words", "packages"),
    [((), "transformers"), (("--task", "lora"), "transformers peft"), (("--task", "inference"), "transformers")],
)
def test_what_the_proof_needs_beside_torch_is_named(product: Product, words: tuple[str, ...], packages: str):
    told = product.call("estimate", write_config(product, "gpt2"), "--gpu", "t4", *words)
    text = " ".join(told.stdout.split())
    assert f"pip install {packages}" in text and f"vramfit env add {packages}" in text
    image = product.call("estimate", "resnet50", "--gpu", "t4")
    assert "pip install torchvision" in " ".join(image.stdout.split())


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("resnet50.a1_in1k", "resnet50"),
        ("timm/resnet50.a1_in1k", "resnet50"),
        ("hf-hub:timm/vit_base_patch16_224.augreg_in21k", "vit_base_patch16_224"),
        ("torchvision.models.resnet18", "resnet18"),
    ],
)
def test_names_are_understood_as_libraries_and_the_hub_spell_them(product: Product, typed: str, meant: str):
    done = product.call("estimate", typed, "--gpu", "t4", "--json", "-")
    assert done.exit_code in (0, 1), done
    assert json.loads(done.stdout)["network"] == meant


def test_a_mistyped_name_is_told_which_was_meant(product: Product):
    for typed in ("resnet5O.a1_in1k", "timm/resnt50", "torchvision.models.rsenet50"):
        done = product.call("estimate", typed, "--gpu", "t4")
        assert done.exit_code == 2 and "did you mean resnet50?" in done.stderr, done


def test_images_that_a_network_does_not_take_are_refused(product: Product):
    done = product.call("estimate", "convnext_tiny", "--size", "7", "--gpu", "t4")
    assert done.exit_code == 2 and "takes no images of 7 x 7 pixels" in done.stderr, done
    assert product.call("estimate", "convnext_tiny", "--size", "32", "--gpu", "t4").exit_code in (0, 1)


def test_a_model_type_that_is_not_known_is_told(product: Product):
    folder = product.folder / "new"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**CONFIGS["llama"], "model_type": "somethingnew"}))
    told = product.call("estimate", str(folder), "--gpu", "t4")
    assert 'The model_type "somethingnew" is not known here' in " ".join(told.stdout.split())
    known = product.call("estimate", write_config(product, "llama"), "--gpu", "t4")
    assert "is not known here" not in " ".join(known.stdout.split())


def test_a_script_is_never_written_over_another_file(product: Product):
    product.script("mine\n")
    done = product.call("estimate", "resnet50", "--gpu", "t4", "--script", "train.py")
    assert done.exit_code == 2
    assert (product.folder / "train.py").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("{}", "num_hidden_layers"),
        ("[1]", "no JSON object"),
        ("", "no JSON object"),
        ('{"num_hidden_layers": 4, "hidden_size": 8, "num_attention_heads": 2}', "vocab_size"),
        ('{"num_hidden_layers": -4}', "num_hidden_layers"),
    ],
)
def test_a_configuration_that_tells_too_little_is_refused_with_what_is_missing(
    product: Product, config: str, says: str
):
    (product.folder / "config.json").write_text(config)
    done = product.call("estimate", "config.json", "--gpu", "t4")
    assert done.exit_code == 2
    assert says in done.stderr


LLAMA_8B = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 8192,
}  # fmt: skip
GPT_OSS_20B = {
    "model_type": "gpt_oss", "hidden_size": 2880, "num_hidden_layers": 24, "num_attention_heads": 64,
    "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880, "num_local_experts": 32,
    "num_experts_per_tok": 4, "vocab_size": 201088, "max_position_embeddings": 131072,
}  # fmt: skip


def weights_gib(product: Product, config: dict[str, Any], *options: str) -> tuple[float, dict[str, Any]]:
    folder = product.folder / "model"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    done = product.call("estimate", str(folder), "--gpu", "rtx4090", "--json", "-", *options)
    assert done.exit_code == 0, str(done)
    told = json.loads(done.stdout)
    (weights,) = [part["bytes"] for part in told["parts"] if part["what"] in ("weights", "frozen weights")]
    return weights / 2**30, told


def test_four_and_eight_bits_are_of_the_matrices_alone(product: Product) -> None:
    """bitsandbytes leaves embeddings, head and norms in 16 bits: 1.051 of 8.03 G numbers of Llama 3.1 8B."""
    matrices, rest = 32 * (4096 * 128 * 80 + 3 * 4096 * 14336), 2 * 4096 * 128256 + 65 * 4096
    for task in ("inference", "lora"):
        four, told = weights_gib(product, LLAMA_8B, "--task", task, "--precision", "int4")
        assert four == pytest.approx((matrices * 4.127 / 8 + rest * 2) / 2**30, rel=1e-3)
        assert 5.1 < four < 5.5
        assert any("double quantization" in note for note in told["notes"])
        assert any("script has all weights in 16 bits" in note for note in told["notes"])
    eight, _ = weights_gib(product, LLAMA_8B, "--task", "inference", "--precision", "int8")
    assert eight == pytest.approx((matrices + rest * 2) / 2**30, rel=1e-3)


def test_a_file_that_says_how_it_is_quantized_is_counted_so(product: Product) -> None:
    quantized = {**GPT_OSS_20B, "quantization_config": {"quant_method": "mxfp4"}}
    weights, told = weights_gib(product, quantized, "--task", "inference")
    assert weights == pytest.approx(12.8, abs=0.2)  # of the 13.8 GB that are published
    assert told["precision"] == "mxfp4"
    assert weights_gib(product, quantized, "--task", "inference", "--precision", "bf16")[0] > 38
    for config, bits in (
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4.16),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, 4.16),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 4.5),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8),
    ):
        matrices, rest = 32 * (4096 * 128 * 80 + 3 * 4096 * 14336), 2 * 4096 * 128256 + 65 * 4096
        found, _ = weights_gib(product, {**LLAMA_8B, "quantization_config": config}, "--task", "inference")
        assert found == pytest.approx((matrices * bits / 8 + rest * 2) / 2**30, rel=1e-2), config


def test_an_unknown_quantizer_is_refused_by_its_name(product: Product) -> None:
    folder = product.folder / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**LLAMA_8B, "quantization_config": {"quant_method": "aqlm"}}))
    done = product.call("estimate", str(folder), "--gpu", "rtx4090", "--task", "inference")
    assert done.exit_code == 2 and '"aqlm"' in done.stderr, str(done)


def test_weights_that_are_quantized_are_not_trained(product: Product) -> None:
    folder = product.folder / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({**GPT_OSS_20B, "quantization_config": {"quant_method": "mxfp4"}}))
    done = product.call("estimate", str(folder), "--gpu", "rtx4090")
    assert done.exit_code == 2 and "mxfp4" in done.stderr and "--task lora" in done.stderr, str(done)


def test_a_name_of_the_hub_says_how_its_shape_is_had(product: Product) -> None:
    done = product.call("estimate", "meta-llama/Llama-3.1-8B", "--gpu", "t4")
    assert done.exit_code == 2
    assert "hf download meta-llama/Llama-3.1-8B config.json --local-dir Llama-3.1-8B" in done.stderr, str(done)
    assert "estimate ./Llama-3.1-8B" in done.stderr.replace("\n  ", " ")
