"""Reads prototypes of exported functions out of preprocessed sources: those of the vendor's own headers where a source
includes them (cudart, driver), else those of our definitions. Nothing is kept; they are read anew in each test run."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import shlex
import subprocess

# Words of a built-in type: a name after them names the parameter.
BUILT_IN = {"void", "char", "short", "int", "long", "unsigned", "signed", "float", "double", "bool", "size_t", "const"}
SIZES = {
    "char": 1,
    "bool": 1,
    "int8_t": 1,
    "uint8_t": 1,
    "short": 2,
    "int16_t": 2,
    "uint16_t": 2,
    "int": 4,
    "unsigned": 4,
    "unsigned int": 4,
    "int32_t": 4,
    "uint32_t": 4,
    "float": 4,
    "long": 8,
    "unsigned long": 8,
    "long long": 8,
    "unsigned long long": 8,
    "int64_t": 8,
    "uint64_t": 8,
    "size_t": 8,
    "ssize_t": 8,
    "off_t": 8,
    "double": 8,
}


@dataclasses.dataclass(frozen=True)
class Parameter:
    type: str  # without const and the name; "float*", "size_t"
    name: str  # may be empty
    const: bool  # of what a pointer points to

    @property
    def is_pointer(self) -> bool:
        return self.type.endswith("*")

    @property
    def pointee(self) -> str:
        return self.type[:-1].strip()


@dataclasses.dataclass(frozen=True)
class Prototype:
    name: str
    result: str
    parameters: tuple[Parameter, ...]


def parse_parameter(text: str) -> Parameter:
    """`const float* alpha`, `void**`, `int sizes[]`, `cudaStream_t stream = 0`."""
    text = re.sub(r"=.*$", "", text).strip()
    text, arrays = re.subn(r"\[[^\]]*\]", "", text)
    text = re.sub(r"\b\w+::", "", text)
    head, star, tail = text.rpartition("*")
    if star or arrays:
        if not star:  # an array: its element's words, the last of which is the name
            words = text.split()
            head, tail = " ".join(words[:-1]), words[-1]
        inner = head.strip()
        const = inner.endswith("const") if "*" in inner else re.search(r"\bconst\b", inner) is not None
        name = re.sub(r"\b(const|__restrict__|restrict)\b", "", tail).strip()
        kept = re.sub(r"\b(const|struct|enum|union)\b", "", inner)
        return Parameter(" ".join(kept.split()).replace(" *", "*") + "*", name, const)
    words = [word for word in text.split() if word not in ("const", "struct", "enum", "union")]
    named = len(words) > 1 and words[-1] not in BUILT_IN
    return Parameter(" ".join(words[:-1] if named else words), words[-1] if named else "", False)


def split_parameters(text: str) -> list[str]:
    """Splits at the commas outside of parentheses and angle brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "(<") - (letter in ")>")
        if letter == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip() not in ("", "void")]


def parse_prototypes(source: str, names: set[str]) -> dict[str, Prototype]:
    """Declarations and definitions of `names` in a preprocessed source; the first of each counts."""
    source = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", source)
    source = re.sub(r'extern\s+"C"\s*\{?', "", source)
    found: dict[str, Prototype] = {}
    for match in re.finditer(r"(?:^|[;{}])\s*([\w\s:*&<>]*?[\s*])(\w+)\s*\(", source):
        result, name = " ".join(match[1].split()), match[2]
        if name not in names or name in found or not result or re.search(r"\b(return|else|typedef)\b", result):
            continue
        end, depth = match.end(), 1
        while depth > 0:
            depth += (source[end] == "(") - (source[end] == ")")
            end += 1
        parameters = tuple(parse_parameter(part) for part in split_parameters(source[match.end() : end - 1]))
        result = re.sub(r"\b(extern|static|inline)\b", "", result).strip()
        found[name] = Prototype(name, result.replace(" *", "*"), parameters)
    return found


def preprocess(command: str, folder: str) -> str:
    """The source of one compile command after the preprocessor."""
    words = shlex.split(command)
    at = words.index("-o")
    words = [word for word in words[:at] + words[at + 2 :] if word != "-c"]
    result = subprocess.run([*words, "-E", "-P"], capture_output=True, text=True, check=True, cwd=folder)
    return result.stdout


def sources_of(build: pathlib.Path, library: str, major: int) -> str:
    """Every hand-written source of one stand-in, preprocessed as the build compiles it."""
    texts = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        # .cxx: a batch of files
        if f"vramfit_{library}_cu{major}.dir/" in entry["command"] and entry["file"].endswith((".cc", ".cxx")):
            texts.append(preprocess(entry["command"], entry["directory"]))
    return "\n;\n".join(texts)


def pointer_types(source: str) -> set[str]:
    """Names that stand for a pointer: `typedef struct CUctx_st* CUcontext;`, `using Handle = const X*;`."""
    names = set(re.findall(r"typedef\s+(?:const\s+)?(?:struct\s+)?\w+\s*\*\s*(\w+)\s*;", source))
    return names | set(re.findall(r"using\s+(\w+)\s*=\s*[\w:\s]+\*\s*;", source))


def callback_types(source: str) -> set[str]:
    return set(re.findall(r"typedef\s+[\w\s*]+\(\s*\*\s*(\w+)\s*\)\s*\(", source))


def struct_types(source: str) -> set[str]:
    """Names of structs and unions that a function may take by value."""
    names = set(re.findall(r"\}\s*(?:__\w+\s+)?(\w+)\s*;", source))
    names |= set(re.findall(r"typedef\s+(?:struct|union)\s+\w+\s+(\w+)\s*;", source))
    names |= set(re.findall(r"\bstruct\s+(\w+)\s*(?:final)?\s*\{", source))
    enums = set(re.findall(r"typedef\s+enum\s+\w+\s+(\w+)\s*;", source)) | set(re.findall(r"\benum\s+(\w+)", source))
    enums |= set(re.findall(r"typedef\s+enum\s+\w*\s*\{[^}]*\}\s*(\w+)\s*;", source))
    return names - enums
