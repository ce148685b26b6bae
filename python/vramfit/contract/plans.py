"""What a plan file may hold: each technique with its settings.

`tools/generate_contract` makes of these the table by which C++ checks a plan, and of which the published schema and
docs/plans.md are made (`src/model/plan_schema.cc`). Hooks are given objects of these classes: mypy sees a setting whose
name is misspelt, or that is taken for another type.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeVar, get_args

from vramfit.contract.fields import Record
from vramfit.contract.numbers import Phase

Value = TypeVar("Value")

# Far above what anybody has, far below what a number of Python's or PyTorch's can't hold.
_MOST_SAMPLES = 1 << 30
_MOST_PARTS = 1 << 20
_MOST_LOADERS = 9999
_MOST_TILES = 64  # a side: 4096 forwards for an image
_MOST_WORKERS = 4096  # processes
_MOST_CLASSES = 1 << 40
_MOST_RANK = 1 << 16
_MOST_PRUNED = 0.9
_MOST_BYTES = 1 << 50

_LOADERS = "data loaders, numbered from 0 in the order in which the script first iterates them"
_MODULES = "names as in `named_modules()`"

HalfType = Literal["float16", "bfloat16"]
FrozenType = Literal["float16", "bfloat16", "int4"]
Kept = Literal["products"]
SparseOptimizer = Literal["SparseAdam"]
PhaseName = str  # of Phase

# When a job that ran out of memory must have come to it: at once, in a backward pass, or in an evaluation.
ActsIn = Literal["all", "backward", "evaluation"]


class Setting:
    """What is right for a setting, and what it is where a plan leaves it out."""

    def __init__(
        self,
        default: Any,
        meaning: str,
        *,
        is_needed: bool = False,
        least: float = 0,
        most: float | None = None,
        above_least: bool = False,
        since: int = 1,
        repeats: bool = False,
    ) -> None:
        self.name = ""
        self.annotation = ""
        self.default = default  # None: none, and the meaning says what holds then
        self.meaning = meaning
        self.is_needed = is_needed
        self.least, self.most = least, most  # of a number, or of each in a list
        self.above_least = above_least  # `least` itself is out
        self.since = since  # version of plans
        self.repeats = repeats  # a list of numbers that may have one twice: sides

    @property
    def form(self) -> str:
        """Its type; a word is a text, a list of words a list of texts."""
        plain = self.annotation.partition(" | ")[0]
        for name in _WORDS:
            plain = plain.replace(name, "str")
        return plain

    @property
    def words(self) -> tuple[str, ...]:
        """The only texts that are right; none: any."""
        return next((words for name, words in _WORDS.items() if name in self.annotation), ())


def setting(default: Value, meaning: str, **told: Any) -> Value:
    made: Any = Setting(default, meaning, **told)
    return made


def needed(meaning: str, **told: Any) -> Any:
    return Setting(None, meaning, is_needed=True, **told)


def _unchangeable(default: Any) -> Any:
    """A default is shared by all plans that leave it out."""
    if isinstance(default, list):
        return tuple(default)
    return MappingProxyType(default) if isinstance(default, dict) else default


class Technique(Record):
    """One entry of a plan. Of what the plan leaves out, the attributes are the defaults."""

    id: ClassVar[str]
    meaning: ClassVar[str]
    settings: ClassVar[Mapping[str, Setting]]  # by the names of attributes
    since: ClassVar[int]  # version of plans
    needs_one: ClassVar[bool]  # of its settings, whichever
    for_loaders: ClassVar[bool]  # stands once for each data loader; others once in a plan
    acts_in: ClassVar[ActsIn]

    def __init_subclass__(
        cls,
        id: str,
        meaning: str,
        since: int = 1,
        needs_one: bool = False,
        for_loaders: bool = False,
        acts_in: ActsIn = "all",
    ) -> None:
        cls.id, cls.meaning, cls.since, cls.acts_in = id, meaning, since, acts_in
        cls.needs_one, cls.for_loaders = needs_one, for_loaders
        settings = {}
        for name, found in list(vars(cls).items()):
            if isinstance(found, Setting):
                found.name, found.annotation = name.rstrip("_"), cls.__annotations__[name]
                settings[name] = found
                setattr(cls, name, _unchangeable(found.default))
        cls.settings = MappingProxyType(settings)

    def is_given(self, name: str) -> bool:
        return name in vars(self)


_WORDS: Mapping[str, tuple[str, ...]] = MappingProxyType({
    "HalfType": get_args(HalfType),
    "FrozenType": get_args(FrozenType),
    "Kept": get_args(Kept),
    "SparseOptimizer": get_args(SparseOptimizer),
    "PhaseName": tuple(phase.name.lower() for phase in Phase),
})  # fmt: skip
_CONVERTED: Mapping[str, Any] = MappingProxyType({
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "list[int]": lambda value: [int(one) for one in value],
    "list[str]": lambda value: [str(one) for one in value],
    "dict[str, Any]": dict,
})  # fmt: skip


def read(entry: dict[str, Any]) -> Technique:
    """Reads an entry of a plan file that C++ has checked. `KeyError`, `TypeError` or `ValueError`: it did not."""
    kind = TECHNIQUES[str(entry["id"])]
    by_name = {found.name: (attribute, found) for attribute, found in kind.settings.items()}
    given = {}
    for name, value in entry.items():
        if name == "id":
            continue
        if name not in by_name:
            raise TypeError(f"{kind.id} has no setting {name}")
        attribute, found = by_name[name]
        given[attribute] = _CONVERTED[found.form](value)
    if missing := [found.name for name, found in kind.settings.items() if found.is_needed and name not in given]:
        raise TypeError(f"{kind.id} needs {missing[0]}")
    return kind(**given)


class MicroBatch(
    Technique,
    id="micro_batch",
    meaning="batches in parts, with one optimizer step for the parts of each",
    for_loaders=True,
):
    micro_batch: int = needed("samples", least=1, most=_MOST_SAMPLES)
    accumulate: int = setting(1, "micro-batches for an optimizer step", least=1, most=_MOST_PARTS)
    loaders: list[int] = setting([0], _LOADERS, most=_MOST_LOADERS)


class BatchSize(Technique, id="batch_size", meaning="batches of another size", for_loaders=True):
    batch_size: int = needed("samples", least=1, most=_MOST_SAMPLES)
    loaders: list[int] = setting([0], _LOADERS, most=_MOST_LOADERS)


class Autocast(Technique, id="autocast", meaning="forward and loss in mixed precision"):
    dtype: HalfType = setting("bfloat16", "computed in")
    scaler: bool | None = setting(None, "the loss is scaled; left out: in float16")

    def is_scaled(self) -> bool:
        return self.dtype == "float16" if self.scaler is None else self.scaler


class Checkpoint(Technique, id="checkpoint", meaning="modules that run again in backward"):
    modules: list[str] = needed(_MODULES)
    keep: Kept | None = setting(
        None,
        "what is not worked out again: results of products of matrices and of convolutions; left out: nothing",
        since=2,
    )


class OffloadActivations(
    Technique, id="offload_activations", meaning="what is saved for backward waits in host memory"
):
    modules: list[str] | None = setting(None, _MODULES)
    at_least: int = setting(1 << 20, "bytes of a tensor that goes", most=_MOST_BYTES)


class OffloadOptimizer(
    Technique,
    id="offload_optimizer",
    meaning="the optimizer's state waits in host memory",
    since=2,
    acts_in="backward",
):
    at_once: int = setting(
        64 << 20, "bytes of parameters whose state is on the card at once", most=_MOST_BYTES, since=2
    )


class Optimizer(Technique, id="optimizer", meaning="another optimizer, or other options of it", needs_one=True):
    name: str | None = setting(
        None, "a class of `torch.optim`, or of another package with its dots; left out: the script's own"
    )
    options: dict[str, Any] = setting({}, "arguments that it is given")


class ResizeInput(Technique, id="resize_input", meaning="smaller images, shorter sequences"):
    scale: float = needed("of each side, or of a sequence's length", most=1, above_least=True)


class NoGradValidation(Technique, id="no_grad_validation", meaning="no graph in evaluations", acts_in="evaluation"):
    pass


class ChunkedLoss(
    Technique, id="chunked_loss", meaning="cross entropy over many classes in chunks of its rows", since=2
):
    chunk_bytes: int | None = setting(
        None,
        "of the logits of a chunk, in float32; left out: 32 MiB, with `linear` 128 MiB",
        least=1,
        most=_MOST_BYTES,
        since=2,
    )
    linear: int | None = setting(
        None,
        "classes of the linear layer that is worked out in the chunks too",
        least=1,
        most=_MOST_CLASSES,
        since=2,
    )


class SplitForward(
    Technique,
    id="split_forward",
    meaning="the network works on a batch in parts, which run again in backward",
    since=2,
):
    parts: int = needed("of a batch, as even as they can be", least=2, most=_MOST_PARTS, since=2)


class GatherOnCpu(Technique, id="gather_on_cpu", meaning="an evaluation gathers on the CPU", acts_in="evaluation"):
    pass


class Allocator(Technique, id="allocator", meaning="settings of PyTorch's allocator"):
    conf: str = needed("what `PYTORCH_CUDA_ALLOC_CONF` takes")


class EmptyCache(
    Technique,
    id="empty_cache",
    meaning="the allocator's cache is emptied when a phase begins",
    acts_in="evaluation",
):
    before: list[PhaseName] = setting(["validate"], "phases")


class LoaderOptions(Technique, id="loader_options", meaning="other options of data loaders", needs_one=True):
    pin_memory: bool | None = setting(None, "batches wait in pinned memory")
    num_workers: int | None = setting(None, "processes that read data", most=_MOST_WORKERS)

    def given(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in self.settings if self.is_given(name)}


class ZeroGradSetToNone(Technique, id="zero_grad_set_to_none", meaning="zeroed gradients are given back"):
    pass


class HalfEvaluation(Technique, id="half_evaluation", meaning="evaluations in half precision", acts_in="evaluation"):
    dtype: HalfType = setting("bfloat16", "computed in")
    weights: bool = setting(False, "held in it too")


class Tiles(Technique, id="tiles", meaning="evaluations in tiles", acts_in="evaluation"):
    per_side: int = needed("tiles along each side", least=2, most=_MOST_TILES)


class SplitEvaluation(
    Technique,
    id="split_evaluation",
    meaning="an evaluation's network works on a batch in parts",
    acts_in="evaluation",
    since=2,
):
    parts: int = needed("of a batch, as even as they can be", least=2, most=_MOST_PARTS, since=2)


class Int8Weights(Technique, id="int8_weights", meaning="weights of 8 bits in evaluations", acts_in="evaluation"):
    pass


class ReleaseGradients(
    Technique,
    id="release_gradients",
    meaning="gradients are used and given back within backward",
    acts_in="backward",
):
    pass


class Int4Weights(
    Technique, id="int4_weights", meaning="weights of 4 bits in evaluations", since=2, acts_in="evaluation"
):
    pass


class HalfTeacher(Technique, id="half_teacher", meaning="a teacher's weights and forward in half precision", since=2):
    dtype: HalfType = setting("bfloat16", "held and computed in", since=2)


class SmallerModel(Technique, id="smaller_model", meaning="a smaller network of the family", since=2):
    from_: str = needed("the network's name, or its config's", since=2)
    to: str = needed("of the same family", since=2)


class Lora(
    Technique,
    id="lora",
    meaning="adapters of low rank are trained in linear layers, whose weights stand still",
    since=2,
):
    rank: int = setting(8, "of the adapters", least=1, most=_MOST_RANK, since=2)
    alpha: float | None = setting(
        None,
        "their sum is scaled by this over the rank; left out: the rank",
        most=_MOST_RANK,
        above_least=True,
        since=2,
    )
    weights: FrozenType | None = setting(None, "those that stand still are held in it; left out: as they are", since=2)


class Attention(Technique, id="attention", meaning="attention in fused kernels, which keep no scores", since=2):
    pass


class MemoryBudget(
    Technique, id="memory_budget", meaning="torch.compile saves less for backward, and recomputes it there", since=2
):
    budget: float = needed("of what it would save, the share that it may", most=1, above_least=True, since=2)


class HostTransforms(
    Technique, id="host_transforms", meaning="transforms of batches on the card work in host memory", since=2
):
    pass


class Prune(Technique, id="prune", meaning="channels taken out of a network's layers", since=2):
    share: float = needed("of each layer's channels that go", most=_MOST_PRUNED, above_least=True, since=2)
    sample: list[int] = needed(
        "the shape of one sample of the network's input", least=1, most=_MOST_SAMPLES, since=2, repeats=True
    )


class SparseEmbeddings(
    Technique,
    id="sparse_embeddings",
    meaning="gradients of embeddings hold the rows that a step touched alone",
    since=2,
):
    optimizer: SparseOptimizer | None = setting(
        None,
        "of these weights, in the place of the script's Adam or AdamW; left out: the script's own",
        since=2,
    )


class HalfWeights(
    Technique, id="half_weights", meaning="weights, gradients and the optimizer's state in bfloat16", since=2
):
    pass


class OffloadWeights(
    Technique,
    id="offload_weights",
    meaning="weights wait in host memory between the forwards of an evaluation",
    since=2,
    acts_in="evaluation",
):
    pass


# In the order of docs/plans.md.
TECHNIQUES: Mapping[str, type[Technique]] = MappingProxyType({each.id: each for each in Technique.__subclasses__()})
