"""Which networks are the next smaller ones of a family: by names (timm, torchvision), by sizes (transformers)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

_MOST = 3  # smaller ones that are told of
# Sizes from large to small, as parts of names.
_WORDS = (
    *("gigantic", "giant", "huge", "xxlarge", "xlarge", "large", "base", "medium", "small"),
    *("tiny", "nano", "pico", "femto", "atto"),
)
_LETTERS = ("g", "h", "l", "m", "b", "s", "t")  # vit_l_16, efficientnet_v2_m
_NUMBER = re.compile(r"\d+")


def smaller_names(name: str, known: Iterable[str]) -> list[str]:
    """The smaller networks that a library knows by name, the largest first. What is behind a dot names weights."""
    stem = name.partition(".")[0]
    names = set(known)
    found = _by_steps(stem, _WORDS, names) or _by_letters(stem, names) or _by_number(stem, names)
    return found[:_MOST]


def _by_steps(stem: str, ladder: tuple[str, ...], names: set[str]) -> list[str]:
    parts = stem.split("_")
    for at, part in enumerate(parts):
        if part in ladder:
            smaller = ("_".join((*parts[:at], word, *parts[at + 1 :])) for word in ladder[ladder.index(part) + 1 :])
            return [one for one in smaller if one in names]
    return []


def _by_letters(stem: str, names: set[str]) -> list[str]:
    """vit_h_14 comes before vit_l_16: another patch goes with another size."""
    parts = stem.split("_")
    for at, part in enumerate(parts):
        if at == 0 or part not in _LETTERS:
            continue
        found = []
        for letter in _LETTERS[_LETTERS.index(part) + 1 :]:
            alike = re.compile("_".join((*map(re.escape, parts[:at]), letter, *["\\d+"] * len(parts[at + 1 :]))) + "$")
            same = "_".join((*parts[:at], letter, *parts[at + 1 :]))
            others = sorted((one for one in names if alike.match(one)), key=_last_number)
            found += [same] if same in names else others[:1]
        return found
    return []


def _last_number(name: str) -> int:
    numbers = _NUMBER.findall(name)
    return int(numbers[-1]) if numbers else 0


def _by_number(stem: str, names: set[str]) -> list[str]:
    """resnet152, efficientnet_b7, regnet_y_16gf: the first number is a depth or a size."""
    number = _NUMBER.search(stem)
    if number is None:
        return []
    before, own, behind = stem[: number.start()], int(number[0]), stem[number.end() :]
    same = _numbered(before, own, re.escape(behind), names)
    return same or _numbered(before, own, r"[_\w]*", names)  # resnext101_64x4d: resnext50_32x4d


def _numbered(before: str, own: int, behind: str, names: set[str]) -> list[str]:
    alike = re.compile(re.escape(before) + r"(\d+)" + f"(?!\\d){behind}$")
    found = {int(match[1]): one for one in sorted(names, reverse=True) if (match := alike.match(one))}
    return [found[size] for size in sorted(found, reverse=True) if size < own]


class Member(NamedTuple):
    """A member of a family of transformers: its name, and its config's values."""

    name: str
    sizes: dict[str, int]


def _encoder(name: str, hidden: int, layers: int, heads: int) -> Member:
    return Member(
        name,
        {
            "hidden_size": hidden,
            "num_hidden_layers": layers,
            "num_attention_heads": heads,
            "intermediate_size": 4 * hidden,
        },
    )


def _gpt2(name: str, hidden: int, layers: int, heads: int) -> Member:
    return Member(name, {"n_embd": hidden, "n_layer": layers, "n_head": heads})


def _t5(name: str, hidden: int, layers: int, heads: int, inner: int, of_head: int = 64) -> Member:
    sizes = {"d_model": hidden, "num_layers": layers, "num_heads": heads, "d_ff": inner}
    return Member(name, {**sizes, "num_decoder_layers": layers, "d_kv": of_head})


# Sizes as published with each: BERT (arXiv 1810.04805, 1908.08962), RoBERTa, GPT-2, ViT (2010.11929), DeiT, T5.
_BERT = (
    _encoder("bert-large", 1024, 24, 16),
    _encoder("bert-base", 768, 12, 12),
    _encoder("bert-medium", 512, 8, 8),
    _encoder("bert-small", 512, 4, 8),
)
_FAMILIES: Mapping[str, tuple[Member, ...]] = MappingProxyType(
    {
        "bert": _BERT,
        "roberta": (_encoder("roberta-large", 1024, 24, 16), _encoder("roberta-base", 768, 12, 12)),
        "vit": (
            _encoder("vit-huge", 1280, 32, 16),
            _encoder("vit-large", 1024, 24, 16),
            _encoder("vit-base", 768, 12, 12),
            _encoder("vit-small", 384, 12, 6),
        ),
        "deit": (
            _encoder("deit-base", 768, 12, 12),
            _encoder("deit-small", 384, 12, 6),
            _encoder("deit-tiny", 192, 12, 3),
        ),
        "gpt2": (
            _gpt2("gpt2-xl", 1600, 48, 25),
            _gpt2("gpt2-large", 1280, 36, 20),
            _gpt2("gpt2-medium", 1024, 24, 16),
            _gpt2("gpt2", 768, 12, 12),
        ),
        "t5": (
            _t5("t5-11b", 1024, 24, 128, 65536, 128),
            _t5("t5-3b", 1024, 24, 32, 16384, 128),
            _t5("t5-large", 1024, 24, 16, 4096),
            _t5("t5-base", 768, 12, 12, 3072),
            _t5("t5-small", 512, 6, 8, 2048),
        ),
    }
)


def _weights_in_layers(sizes: dict[str, int]) -> int:
    """About: four square matrices of attention, and two to an inner size, for each layer."""
    hidden = sizes.get("hidden_size") or sizes.get("n_embd") or sizes.get("d_model") or 0
    layers = sizes.get("num_hidden_layers") or sizes.get("n_layer") or sizes.get("num_layers") or 0
    inner = sizes.get("intermediate_size") or sizes.get("d_ff") or 4 * hidden
    return layers * (4 * hidden * hidden + 2 * hidden * inner)


def _sizes_of(config: Any, family: tuple[Member, ...]) -> dict[str, int]:
    return {key: int(getattr(config, key)) for key in family[0].sizes if isinstance(getattr(config, key, None), int)}


def describe_config(config: Any) -> tuple[str, int, list[str]]:
    """What the network of a config is called, about how many weights its layers have, and its smaller relatives."""
    family = _FAMILIES.get(str(getattr(config, "model_type", "")))
    if family is None:
        return "", 0, []
    own = _sizes_of(config, family)
    weights = _weights_in_layers(own)
    name = next((member.name for member in family if member.sizes == own), "")
    if not name:
        sizes = member_sizes(own)
        name = f"{config.model_type} of {sizes}"
    smaller = [member.name for member in family if _weights_in_layers(member.sizes) < 0.95 * weights]
    return name, weights, smaller[:_MOST]


def member_sizes(sizes: dict[str, int]) -> str:
    hidden = sizes.get("hidden_size") or sizes.get("n_embd") or sizes.get("d_model") or 0
    layers = sizes.get("num_hidden_layers") or sizes.get("n_layer") or sizes.get("num_layers") or 0
    return f"{layers} layers x {hidden}"


def find_member(name: str) -> Member | None:
    return next((member for family in _FAMILIES.values() for member in family if member.name == name), None)
