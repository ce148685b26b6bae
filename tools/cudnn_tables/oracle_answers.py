"""Reads the oracle's kept questions and answers (virtual_gpu/cudnn_oracle/wire.h) and tells convolutions among them."""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator

# Descriptor and attribute numbers: abi/cudnn_backend.h.
OPERATION_GRAPH, OPERATIONS_OF_GRAPH = 15, 801
CONVOLUTIONS = {  # descriptor type: operation, attributes of x, w, y and of the convolution
    10: ("forward", 704, 703, 705),
    12: ("data", 710, 709, 711),
    11: ("filter", 716, 715, 717),
}
CONVOLUTION_DESCRIPTOR = 1
DILATIONS, STRIDES, PADDING = 102, 103, 105
TENSOR_TYPE, TENSOR_SIZES, TENSOR_STRIDES = 901, 902, 903
TYPE_NAMES = {0: "fp32", 2: "fp16", 9: "bf16"}  # cudnnDataType_t
TENSOR_CORE, NONDETERMINISTIC = 0, 4  # cudnnBackendNumericalNote_t


@dataclasses.dataclass
class Plan:
    engine: int
    workspace_bytes: int
    notes: tuple[int, ...]

    @property
    def flags(self) -> int:
        """1: uses tensor cores (or TF32); 2: not deterministic."""
        return (1 if TENSOR_CORE in self.notes else 0) | (2 if NONDETERMINISTIC in self.notes else 0)


@dataclasses.dataclass
class Answer:
    version: int
    plans: list[Plan]


@dataclasses.dataclass
class Descriptor:
    type: int
    attributes: dict[int, tuple[bytes, list[int]]]  # values, children


@dataclasses.dataclass
class Question:
    descriptors: list[Descriptor]
    graph: int
    mode: int


class Reader:
    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def number(self, code: str) -> int:
        (value,) = struct.unpack_from("<" + code, self.content, self.at)
        self.at += struct.calcsize(code)
        return value

    def text(self) -> bytes:
        size = self.number("I")
        self.at += size
        return self.content[self.at - size : self.at]

    def numbers(self, code: str) -> list[int]:
        return [self.number(code) for _ in range(self.number("I"))]


def read_question(content: bytes) -> Question:
    reader = Reader(content)
    reader.text()  # the card
    descriptors = []
    for _ in range(reader.number("I")):
        descriptor = Descriptor(reader.number("i"), {})
        for _ in range(reader.number("I")):
            name, _, _ = reader.number("i"), reader.number("i"), reader.number("q")
            descriptor.attributes[name] = (reader.text(), reader.numbers("I"))
        descriptors.append(descriptor)
    return Question(descriptors, reader.number("I"), reader.number("i"))


def read_answer(content: bytes) -> Answer:
    reader = Reader(content)
    reader.number("i")
    reader.text()
    version = reader.number("q")
    plans = [
        Plan(reader.number("q"), reader.number("q"), tuple(reader.numbers("i"))) for _ in range(reader.number("I"))
    ]
    return Answer(version, plans)


def read_pairs(content: bytes) -> Iterator[tuple[Question, Answer]]:
    """Pairs of the client's cache file: the asked folder, a zero and the question; the answer."""
    frames = Reader(content)
    while frames.at < len(content):
        _, _, question = frames.text().partition(b"\0")
        yield read_question(question), read_answer(frames.text())


def integers(content: bytes, code: str) -> tuple[int, ...]:
    return struct.unpack(f"<{len(content) // struct.calcsize(code)}{code}", content)


def problem_of(question: Question) -> tuple | None:
    """(operation, case, batch, layer as in record_cudnn_workspaces) of a question about one 2-d convolution."""
    operations = question.descriptors[question.graph].attributes[OPERATIONS_OF_GRAPH][1]
    operation = question.descriptors[operations[0]]
    if len(operations) != 1 or operation.type not in CONVOLUTIONS or question.mode != 0:
        return None
    name, x_name, w_name, _ = CONVOLUTIONS[operation.type]

    def child(attribute: int) -> Descriptor:
        return question.descriptors[operation.attributes[attribute][1][0]]

    x, w = child(x_name), child(w_name)
    sizes, strides = (integers(x.attributes[a][0], "q") for a in (TENSOR_SIZES, TENSOR_STRIDES))
    kernel = integers(w.attributes[TENSOR_SIZES][0], "q")
    kind = TYPE_NAMES.get(integers(x.attributes[TENSOR_TYPE][0], "i")[0])
    if len(sizes) != 4 or kind is None:
        return None
    children = (question.descriptors[at] for _, list_ in operation.attributes.values() for at in list_)
    convolution = next(found for found in children if found.type == CONVOLUTION_DESCRIPTOR)
    stride, padding, dilation = (integers(convolution.attributes[a][0], "q") for a in (STRIDES, PADDING, DILATIONS))
    layout = "nhwc" if strides[1] == 1 and sizes[1] > 1 else "nchw"
    groups = sizes[1] // kernel[1]
    layer = (*sizes[1:], kernel[0], *kernel[2:], *stride, *padding, *dilation, groups)
    return name, f"{kind} {layout}", sizes[0], *layer


def plans_text(plans: list[Plan]) -> str:
    """`engine:bytes:flags` of the plans PyTorch may end with: the first; the first without tensor cores, deterministic,
    both; the first without a workspace. In the heuristics' order; "-" for none."""
    wanted = [lambda plan: True]
    wanted += [lambda plan, mask=mask: plan.flags & mask == 0 for mask in (1, 2, 3)]
    wanted += [lambda plan: plan.workspace_bytes == 0]
    chosen: set[int] = set()
    for test in wanted:
        chosen |= set([at for at, plan in enumerate(plans) if test(plan)][:1])
    texts = [f"{plans[at].engine}:{plans[at].workspace_bytes}:{plans[at].flags}" for at in sorted(chosen)]
    return " ".join(dict.fromkeys(texts)) or "-"
