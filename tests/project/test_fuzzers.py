"""fuzz/README.md: every reader of what comes from outside has a fuzzer, or a reason for which it has none."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROW = re.compile(r"^\| `([\w/]+)` \| (?:`(\w+)`)? ?\| ?(.*?) ?\|$", re.MULTILINE)
OF_TEXT = r"string_view|std::string&|span<const (?:std::byte|uint64_t)|path&|char\*|istream"
DECLARED = re.compile(rf"\b(?:parse|read|decode)_\w+\([^;{{]*?(?:{OF_TEXT})", re.DOTALL)
TAKEN_APART = re.compile(r"\bjson::(?:parse|sax_parse)\(|\bgetline\(|toml::parse")


@dataclass
class Reader:
    name: str  # "src/watch/alert"
    fuzzer: str
    words: str  # the reader through which the fuzzer comes to it, or why it has none


def read_table(root: Path) -> list[Reader]:
    return [Reader(*found) for found in ROW.findall((root / "fuzz" / "README.md").read_text())]


def find_readers(root: Path) -> Iterator[str]:
    for folder in ("src", "virtual_gpu", "recorder"):
        for path in sorted((root / folder).rglob("*.*")):
            if path.suffix not in (".h", ".cc", ".c") or path.stem.endswith("_test") or path.parent.name == "testing":
                continue
            asked = DECLARED if path.suffix == ".h" else TAKEN_APART
            if asked.search(re.sub(r"//.*", "", path.read_text())):
                yield path.relative_to(root).with_suffix("").as_posix()


def find_included(source: Path) -> Iterator[str]:
    """Through headers of the fuzzers' own too."""
    for name in re.findall(r'#include "(.+)\.h"', source.read_text()):
        yield name
        own = source.parent / f"{name}.h"
        if own.exists():
            yield from find_included(own)


def complain(root: Path) -> Iterator[str]:
    table = read_table(root)
    names = [reader.name for reader in table]
    for name in sorted(set(find_readers(root)) - set(names)):
        yield f"{name}: no row of fuzz/README.md"
    yield from (f"{name}: two rows" for name in sorted({name for name in names if names.count(name) > 1}))
    listed = (root / "fuzz" / "CMakeLists.txt").read_text()
    for reader in table:
        if not any((root / f"{reader.name}{suffix}").exists() for suffix in (".h", ".cc", ".c")):
            yield f"{reader.name}: there is no such file"
        if not reader.fuzzer:
            yield from [] if reader.words else [f"{reader.name}: neither a fuzzer nor a reason"]
            continue
        source = root / "fuzz" / f"{reader.fuzzer}.cc"
        if not source.exists() or not re.search(rf"\b{reader.fuzzer}\b", listed):
            yield f"{reader.name}: there is no fuzzer {reader.fuzzer}"
            continue
        header = (reader.words.strip("`") or reader.name).removeprefix("src/")
        if not any(header == each or header.endswith(f"/{each}") for each in find_included(source)):
            yield f"{reader.name}: fuzz/{reader.fuzzer}.cc does not include {header}.h"


def test_every_reader_has_a_fuzzer_or_a_reason(root: Path) -> None:
    assert list(complain(root)) == []
    assert len(read_table(root)) > 70


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("", "src/watch/alert: no row of fuzz/README.md"),
        ("| `src/watch/alert` | | |\n", "src/watch/alert: neither a fuzzer nor a reason"),
        ("| `src/watch/alert` | `other` | |\n", "src/watch/alert: there is no fuzzer other"),
        (
            "| `src/watch/alert` | `texts` | `src/watch/all` |\n",
            "src/watch/alert: fuzz/texts.cc does not include watch/all.h",
        ),
        ("| `src/watch/alert` | `texts` | |\n| `src/gone` | | x |\n", "src/gone: there is no such file"),
        ("| `src/watch/alert` | `texts` | |\n" * 2, "src/watch/alert: two rows"),
        ("| `src/watch/alert` | `texts` | |\n", None),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, row: str, said: str | None) -> None:
    for name, text in {
        "src/watch/alert.h": "Result<Rule> parse_alert(std::string_view text);\n",
        "src/watch/rule.h": "// parse_rule(std::string_view text)\nRule parse_number(int number);\n",
        "fuzz/texts.cc": '#include "watch/alert.h"\n',
        "fuzz/CMakeLists.txt": "vramfit_fuzzer(texts vramfit_watch)\n",
        "fuzz/README.md": row,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert list(complain(tmp_path)) == ([said] if said else [])
