"""What an operator does with values, from its schema and, where the schema does not say, its name."""

from __future__ import annotations

from enum import Enum, auto
from types import MappingProxyType
from typing import Any

import torch

from vramfit.base import process
from vramfit.private import operators as of_operators
from vramfit.private import torch as of_torch
from vramfit.private.operators import full_names, names_of
from vramfit.values.memory import written_by
from vramfit.values.operator_facts import KnownOverloads, OperatorFacts


class Kind(Enum):
    COMPOSITE = auto()  # made of others
    PLAIN = auto()  # its outputs follow from its inputs
    WITHOUT_VALUES = auto()  # makes, names or resizes memory
    FROM_SHAPES = auto()  # its inputs give shape and type only
    COPY = auto()
    READ = auto()  # the host gets a value
    SIZED = auto()  # the size of its output is in the data
    INDEXED = auto()  # a mask among its indices sizes what it makes
    COUNTS = auto()  # what it makes of a mask counts
    COMPARES = auto()
    ARRANGES = auto()  # a mask stays a mask
    CHOOSES = auto()  # its places depend on an order of values
    EACH = auto()  # one small operator for each entry of its lists
    HEAVY = auto()  # never computed, and its whole numbers are its own bookkeeping


_WITHOUT_VALUES = names_of("""
    empty empty_like empty_strided empty_permuted new_empty new_empty_strided set_ resize_ resize_as_ detach lift_fresh
    lift record_stream is_pinned pin_memory is_same_size
""") | full_names(of_operators.WITHOUT_VALUES, of_operators.COMPARES_TYPES)
_FROM_SHAPES = names_of("""
    zeros_like ones_like full_like new_zeros new_ones new_full rand_like randn_like randint_like zero_ fill_ zero
    random_ uniform_ normal_ bernoulli_ exponential_ cauchy_ log_normal_ geometric_
""")
_SIZED = (
    names_of("""
    nonzero masked_select unique_dim unique_consecutive unique_dim_consecutive repeat_interleave bincount
""")
    | full_names(of_operators.SIZED)
    | {"torchvision::nms"}
)
_COMPARES = names_of("gt ge lt le eq ne gt_ ge_ lt_ le_ eq_ ne_")
_ARRANGES = names_of("""
    bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_and_ bitwise_or_ bitwise_xor_ bitwise_not_ logical_and
    logical_or logical_xor logical_not logical_and_ logical_or_ logical_xor_ logical_not_ cat stack clone mul
    index_select gather flip roll repeat constant_pad_nd
""")
_HEAVY_WORDS = (
    "convolution", "cudnn", "dropout", "max_pool", "ctc_loss", "batch_norm", "embedding_bag", "grid_sampler", "lstm",
    "gru", "nll_loss", "upsample", "deform_conv", "roi_align", "roi_pool", "linalg_", "fft",
    *(family.word for family in (*of_operators.HEAVY, of_operators.distance)),
)  # fmt: skip
_BY_NAME = MappingProxyType(
    {
        **dict.fromkeys(_WITHOUT_VALUES, Kind.WITHOUT_VALUES),
        **dict.fromkeys(_FROM_SHAPES, Kind.FROM_SHAPES),
        **dict.fromkeys(_SIZED, Kind.SIZED),
        **dict.fromkeys(_COMPARES, Kind.COMPARES),
        **dict.fromkeys(_ARRANGES, Kind.ARRANGES),
        **dict.fromkeys(names_of("copy_") | full_names(of_operators.COPIES), Kind.COPY),
        **dict.fromkeys(names_of("equal") | full_names(of_operators.READS), Kind.READ),
        **dict.fromkeys(names_of("index index_put index_put_") | full_names(of_operators.INDEXED), Kind.INDEXED),
        **dict.fromkeys(names_of("sum count_nonzero cumsum all any"), Kind.COUNTS),
        **dict.fromkeys(names_of("argmax argmin topk sort max min multinomial kthvalue median mode"), Kind.CHOOSES),
    }
)
_ONLY_WRITTEN = full_names(of_operators.ONLY_WRITES)  # what was there before is not read
_MULTIPLY = names_of("mm addmm bmm baddbmm addmv mv dot addbmm mm_") | full_names(of_operators.MULTIPLIES)


class Operator(OperatorFacts):
    """One overload: what it does, and which of its arguments it writes."""

    def __init__(self, overload: Any) -> None:
        super().__init__(overload)
        self.kind = Kind.COMPOSITE if self.is_composite else self._find_kind()
        self.multiplies = self.name in _MULTIPLY
        self.reads_what_it_writes = self.name not in _ONLY_WRITTEN
        self.looks_within = False  # at values of the card, as it was seen to do

    def _find_kind(self) -> Kind:
        if self.is_view:
            return Kind.WITHOUT_VALUES
        if self.name == "aten::fill_" and of_torch.overload_name.of(self.overload) == "Tensor":
            return Kind.PLAIN
        if self.name == "aten::bernoulli_" and of_torch.overload_name.of(self.overload) == "Tensor":
            return Kind.PLAIN
        if (found := _BY_NAME.get(self.name)) is not None:
            return found
        space, _, base = self.name.partition("::")
        if space not in ("aten", "prims"):
            return Kind.HEAVY  # a collective, an extension's own kernel: never run with other tensors
        if of_operators.each.begins(self.name):
            return Kind.EACH
        return Kind.HEAVY if any(word in base for word in _HEAVY_WORDS) else Kind.PLAIN

    def written(self, args: Any, kwargs: Any) -> list[torch.Tensor]:
        return written_by(self, args, kwargs) if self.writes else []


operator_of = process.own(KnownOverloads, Operator).of
