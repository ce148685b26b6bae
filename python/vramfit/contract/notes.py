"""Every note that the hooks write: its kind, its fields and their types.

A new note is a class here and a call of `notes.note(...)`; `tools/generate_contract` makes the rest of it (see
CONTRIBUTING.md). Types: `str`, `int`, `bool`, `float`, those of `fields.py`, records and rows of this file, and
`list[...]`, `dict[str, ...]` and `... | None` of these; `Literal[...]`, under a name, of a text that is one of a few
words, an enumeration in C++: any other is counted as lost. What is decided by a note is a field of its own: a sentence
for people may be written anew. A comment after a field is its line in `docs/notes.md`.
"""

from __future__ import annotations

from typing import Literal

from vramfit.contract.fields import Address, Bytes, Note, Number, Record, Row, Scalar

ProcessRole = Literal["main", "child"]
LaterRole = Literal["worker"]
ThreadRole = Literal["pin"]
CutKind = Literal["loader", "repeated", "steps", "budget", "counted", "stopped", "uploads"]
UsesCard = Literal["yes", "no", "unknown"]
GraphOption = Literal["retain_graph", "create_graph"]
TensorKind = Literal["gradient", "update", "buffer", "average", "average_in_order", "output", "input"]

UnreachedKind = Literal[
    "lines",
    "part",  # of a line that was executed
    "other_side",  # of a comparison that was executed, and came out the same way each time
]

EffectKind = Literal[
    "label_weights",  # gradients may differ: labels of a mean loss had other weights
    "batch_statistics",  # batch norms average over fewer samples
    "other",
]

HolderKind = Literal[
    "global",
    "local",
    "attribute",  # of a module or an object that a global or local names
    "closure",
    "hook",
    "exception",
    "notebook",  # Out[], _, _12
    "generator",
    "class",
    "object",  # of a class of the script's, which no name leads to
    "graph",  # only autograd holds it
    "unknown",
]

# -- the process


class Process(Note, kind="process"):
    """What process this is, before its first other note."""

    torch: str
    cuda: str
    python: str
    rank: int = 0
    world_size: int = 1
    local_rank: int = -1  # without a launcher
    role: ProcessRole  # a child is one that multiprocessing started


class Rank(Note, kind="rank"):
    """When the card is first touched: by then a launcher's child knows which rank it is."""

    rank: int
    local_rank: int = -1
    world_size: int = 1


class Role(Note, kind="role"):
    """What a process turned out to be."""

    role: LaterRole  # of a data loader


class Thread(Note, kind="thread"):
    """A thread that libraries started for a purpose."""

    role: ThreadRole  # it pins batches
    thread: int  # its id


class LinesUnknown(Note, kind="lines_unknown"):
    """The recorder can't read the frames of this version of Python, and finds no lines."""

    python: str


class RecordingStopped(Note, kind="recording_stopped"):
    """Events after this are missing; the recorder writes it itself."""

    text: str


class BlocksUnseen(Note, kind="blocks_unseen"):
    """PyTorch gave this process memory of a card, and told the recorder of none of it."""

    torch: str
    allocator: str  # torch.cuda.get_allocator_backend()


class RealCard(Note, kind="real_card"):
    """The card that this process has under a number, with `--gpu real`; recorder/real_watch.cc writes it."""

    device: int
    name: str  # by the driver
    uuid: str  # as NVML spells it; empty: not told
    driver: str  # its version; empty: there is no NVML
    total_bytes: Bytes  # that CUDA can give
    tells_own: bool  # NVML says what this process holds


class HookFailed(Note, kind="hook_failed"):
    """One of our hooks failed and was left out."""

    where: str
    type: str
    message: str
    at: str = ""


class NameGone(Note, kind="name_gone"):
    """A private name that a release of a library has no more: what a hook does with it is left out."""

    library: str
    version: str
    name: str
    lost: str  # in plain words: "loaders are not cut"


class StackFrame(Record):
    """A frame of a traceback."""

    file: str
    line: int
    function: str
    code: str = ""


class Error(Note, kind="error"):
    """An uncaught exception that is not about memory."""

    type: str
    message: str
    stack: list[StackFrame]  # innermost last
    after_cut: bool = False  # an evaluation had been cut
    after_read: bool = False  # values that were not computed had been read


class Loading(Record):
    """How far a model had come that was on its way to the card."""

    how: str
    root: str
    module: str
    on_card_bytes: Bytes
    to_come_bytes: Bytes | None = None


class Oom(Note, kind="oom"):
    """An out-of-memory error that reached the top of the script, or was being handled when another one did."""

    message: str
    phase: str
    stack: list[StackFrame]  # innermost last
    loading: Loading | None = None


class WideLoss(Note, kind="wide_loss"):
    """A cross entropy, or a loss of log-probabilities, whose logits are larger than those of all before it."""

    rows: int
    classes: int
    bytes: Bytes  # of the logits, in float32
    is_log: bool  # what it was given were log-probabilities
    features: int  # that the linear layer is given which put them out; 0: none was found


class NetworkMade(Note, kind="network_made"):
    """A network that a library made by a name (timm, torchvision) or by the sizes of a config (transformers)."""

    library: str
    name: str
    weights: int  # of a config: about, and of its layers alone
    smaller: list[str]  # of its family, the largest first
    loaded: bool  # weights of a checkpoint went in


class Teacher(Note, kind="teacher"):
    """A network that a training step calls in eval mode and without gradients, as a distillation calls its teacher."""

    class_name: str
    bytes: Bytes  # of its parameters
    is_float: bool  # in 32 bits


class AttentionKept(Note, kind="attention_kept"):
    """What the attention of a forward pass keeps for backward: scores, or nothing of them where a kernel is fused."""

    scores: Bytes  # of queries times keys, with what dropout makes of them
    calls: int  # that kept them
    of_sdpa: Bytes  # of the scores: of scaled_dot_product_attention without a fused kernel
    of_multihead: Bytes  # of the scores: maybe of MultiheadAttention that was asked for its weights
    spared: Bytes  # scores that fused kernels did not keep
    eager: str  # class of a model of transformers whose attention is eager; may be empty
    why_not: str  # why that has to stay so; may be empty


class Advice(Note, kind="advice"):
    """What a script does that frees no memory, or takes some, and what would: with the job's own figures."""

    text: str


# -- what was left out, and what was not seen


class Cut(Note, kind="cut"):
    """Something of the run was left out."""

    what: CutKind
    text: str  # for the user


class Open(Note, kind="open"):
    """Why what was left out may use more memory."""

    text: str


class RunOn(Note, kind="run_on"):
    """How far a run with a budget came."""

    count: int  # batches and steps in full
    peak_at: int  # the count when the peak last rose
    seconds: float
    steps_in_full: int | None  # optimizer steps before the first cut


class Looked(Note, kind="looked"):
    """How much of a data set was looked at beside the run."""

    loader: int
    samples: int
    of: int | None
    differ: bool


class LineRange(Row):
    """Lines of a file, both counted."""

    first: int
    last: int


class LinePart(Row):
    """A part of a line."""

    line: int
    column: int


class UnreachedLines(Record):
    """Lines of the script's own that were not reached."""

    file: str
    line: int
    last_line: int
    place: str = ""
    code: str = ""
    when: str = ""  # the test that they wait for
    why: str | None = None  # in words, where the test alone would not tell
    card: UsesCard = "unknown"  # whether they use it
    column: int = 0  # of a part: from 1
    what: UnreachedKind = "lines"


class Coverage(Note, kind="coverage"):
    """Which lines of the script's own files were run; once, at the end of a main process."""

    known: bool
    executed: dict[str, list[LineRange]]  # by file
    parts: dict[str, list[LinePart]]  # by file: parts of lines that were run
    unreached: list[UnreachedLines]
    lines_run: int
    lines: int  # how many there are


class DataRead(Note, kind="data_read"):
    """A size, a branch or a number was read from device memory and rests on values that were not computed."""

    what: str
    line: str
    count: int = 1
    is_branch: bool = False  # a branch of the script was chosen by it


class Values(Note, kind="values"):
    """Under `--values cpu`, an operator whose values are not exact."""

    text: str


class Assumed(Note, kind="assumed"):
    """Something that a real card could do otherwise."""

    text: str


# -- data


class Loader(Note, kind="loader"):
    """A data loader, by the order in which loaders were first iterated; the later note counts."""

    ordinal: int
    batch_size: int | None
    batches: int | None
    samples: int | None
    phase: str
    shapes: list[list[int]]  # of a batch's tensors


class StepInput(Note, kind="step_input"):
    """What the model was given."""

    phase: str
    step: int
    elements: int
    shapes: str


class InputModule(Note, kind="input_module"):
    """A module without parameters that ran before the model."""

    name: str


# -- the model and its training


class RootModule(Note, kind="root_module"):
    """A model that was called; again, where only its first forward in training tells of batch norms."""

    class_name: str
    parameters: int
    parameter_bytes: Bytes
    has_batch_norm: bool  # that trains: one that stands still sees no batch


class ModuleMemory(Note, kind="module_memory"):
    """What a module's forward leaves on the card."""

    name: str
    class_name: str
    saved_bytes: Bytes  # activations its forward left alive
    output_bytes: Bytes  # of those, what it returned
    calls: int


class Optimizer(Note, kind="optimizer"):
    """An optimizer that stepped."""

    class_name: str
    options: dict[str, Scalar]
    largest_bytes: Bytes  # of one parameter
    state_bytes: Bytes
    bitsandbytes: bool  # it can be imported
    moved_bytes: Bytes  # of what it moves and is neither a parameter nor a model's: images, latents
    factored_bytes: Bytes  # of the state that torch.optim.Adafactor would keep


class OptimizerBegins(Note, kind="optimizer_begins"):
    """Before an optimizer's first step."""

    class_name: str
    expected_bytes: Bytes | None  # of its state; None for a class that is not known


class LinearLayers(Note, kind="linear_layers"):
    """A network that is trained: what adapters of rank 8 in its linear layers would leave to train."""

    trained: int  # numbers that the optimizer has of it
    frozen: int  # numbers that no optimizer has
    adapted: int  # numbers in weights that get adapters
    layers: int  # that get adapters
    width: int  # rows and columns of these weights: numbers of adapters of rank 1
    whole: int  # numbers that are trained as before: small layers, and the task's own
    halved: int  # numbers in float32 that stand still in layers which can hold them in half the bytes
    loaded: bool  # its weights, or those of one as large, were read from somewhere


class ConvolutionLayers(Note, kind="convolution_layers"):
    """A network that is trained, with convolutions whose channels could be taken out."""

    trained: int  # numbers that the optimizer has of it
    layers: int  # convolutions of 32 channels and more
    sample: list[int]  # the shape of one of its input's samples; empty: it is called otherwise than with one tensor
    torch_pruning: bool  # it can be imported


class CardTransform(Note, kind="card_transform"):
    """A transform of batches that worked on the card, once for each class."""

    name: str
    phase: str


class SparseEmbeddings(Note, kind="sparse_embeddings"):
    """Embeddings that are trained with gradients of all their rows, of which a step touches some."""

    bytes: Bytes  # of their weights
    touched_bytes: Bytes  # of the rows that a step's largest input can touch
    layers: int
    optimizer: str  # class of torch.optim
    same: bool  # it does to rows without a gradient what it does with sparse gradients: nothing
    why_not: str  # why their gradients can't be sparse; empty: they can


class GradientsKept(Note, kind="gradients_kept"):
    """`zero_grad(set_to_none=False)`: gradients are filled with zeros and keep their memory until the next step."""

    line: str
    after_forward: bool  # the forward pass was over: it holds them whether they are kept or not


class Precision(Note, kind="precision"):
    """The precision of the training, again whenever something about it is learnt."""

    autocast: str | None = None  # its type
    scaler: bool = False
    checkpointing: bool = False
    compiled: bool = False
    tf32: bool = False


class Evaluation(Note, kind="evaluation"):
    """Whether the forwards of an evaluation ran with gradients on."""

    gradients: bool


class Output(Note, kind="output"):
    """What comes out of the model."""

    shape: list[int]
    dtype: str


class WideLayer(Note, kind="wide_layer"):
    """The widest layer of a model that ends in many classes."""

    name: str
    classes: int


class GraphKept(Note, kind="graph_kept"):
    """A backward pass that keeps its graph."""

    option: GraphOption
    line: str


# -- memory that grows


class Growth(Note, kind="growth"):
    """Memory still grew when the run was ended. From `phase` on: of an evaluation that gathers on the card."""

    text: str
    phase: str = ""
    bytes_per_batch: Bytes = 0
    batches: int = 0  # of a pass
    variable: str = ""
    line: str = ""
    movable: bool = False
    graphs: bool = False  # what it gathers keeps the graphs of its forwards


class GraphsKept(Note, kind="graphs_kept"):
    """Graphs of past training steps that the script keeps, with what they saved for backward passes."""

    variable: str  # as the script writes it: "losses", "self.total"
    line: str  # where it adds to it: "train.py:12 in train"
    bytes_per_step: Bytes


class LateGrowth(Note, kind="late_growth"):
    """Memory rose in every round of a loop that was counted on, as it had not before."""

    value: int  # of the counter
    steps: int  # optimizer steps before
    rounds: int
    bytes_per_round: Bytes


# -- plans


class PlanApplied(Note, kind="plan_applied"):
    """A technique of the plan was applied."""

    id: str
    text: str


class PlanRefused(Note, kind="plan_refused"):
    """A technique of the plan can't be applied to this script."""

    id: str
    text: str


class PlanObstacle(Note, kind="plan_obstacle"):
    """Why a technique would be refused by this script, seen in a run that applies none (VRAMFIT_OBSTACLES)."""

    id: str
    text: str
    loader: int | None  # it is so for parts of this one's batches


class PlanEffect(Note, kind="plan_effect"):
    """What an applied technique did to the training beyond its promise (steps left out)."""

    id: str
    text: str
    what: EffectKind = "other"


# -- other programs


class FrameworkMemory(Note, kind="framework_memory"):
    """By the own count of JAX or TensorFlow; once, at the end."""

    framework: str
    version: str
    device: int
    peak_bytes: Bytes  # in use
    pool_bytes: Bytes | None  # that it took for itself


class ServerMemory(Note, kind="server_memory"):
    """By the own profiling of a server of language models."""

    framework: str  # `vLLM`
    version: str
    device: int
    weights_bytes: Bytes | None
    activation_bytes: Bytes | None
    outside_bytes: Bytes | None  # of PyTorch's allocator
    graph_bytes: Bytes | None
    kv_cache_bytes: Bytes | None
    kv_tokens: int | None


# -- looking for causes (--diagnose)


class Holder(Record):
    """The named thing at the end of the chain of references that keeps a tensor alive."""

    kind: HolderKind = "unknown"
    name: str = ""  # as the script would write it: "losses[0]", "self.history['loss'][-1]"
    where: str = ""  # local, closure, generator: the function, "train.py:84 in train"; global: the module
    container: str = ""  # type of what holds it directly: "list", "dict", "deque"
    length: int = -1  # how much that container holds; -1: it has no length
    chain: list[str]  # from the named thing to the tensor: "global losses", "list of 12", "Tensor"
    filled_at: list[str]  # lines that add to what has that name, "train.py:16 in Log.add"


class TensorGroup(Record):
    """Tensors that are alike, kept by one holder. `address` and the note's `at_ns` find a block of theirs."""

    holder: Holder
    address: Address = 0
    shape: str = ""  # of the largest: "float32 [64, 1000]"
    tensors: int
    bytes: Bytes  # storages counted once
    has_graph: bool  # with a grad_fn: its graph, and what that saved, lives as long
    operation: str = ""  # the grad_fn's name, "NllLossBackward0"
    line: str = ""  # that allocated them; the recording knows better


class GrowingGraph(Record):
    """An autograd graph that gets longer."""

    holder: Holder
    nodes_before: int
    nodes_after: int
    counted_all: bool


class Diagnosed(Note, kind="diagnosed"):
    """Causes are looked for: the notes below may follow."""


class KeptAcrossSteps(Note, kind="kept_across_steps"):
    """What outlives the step that made it."""

    phase: str
    at_ns: int  # CLOCK_MONOTONIC, here and below
    tensors: list[TensorGroup]
    graphs: list[GrowingGraph]


class Collected(Note, kind="collected"):
    """Python's collector was asked to free cycles of objects, while memory grew that no name leads to."""

    is_on: bool  # else it was not asked: the script has turned it off
    begun_ns: int
    ended_ns: int
    freed_bytes: Bytes


class ModelCalls(Note, kind="model_calls"):
    """When the model that a script calls most before its first optimizer step was called."""

    stride: int  # calls from one that is listed to the next
    begun_ns: list[int]


class KeptFromTraining(Note, kind="kept_from_training"):
    """What of the training is on the card when an evaluation begins."""

    phase: str  # that begins
    at_ns: int
    allocated_bytes: Bytes
    gradient_bytes: Bytes
    tensors: list[TensorGroup]


class HeldAtOom(Note, kind="held_at_oom"):
    """What lives when memory runs out."""

    at_ns: int
    tensors: list[TensorGroup]


class HeldAtRise(Note, kind="held_at_rise"):
    """What there is more of than before, at a moment when more was allocated than ever."""

    at_ns: int
    tensors: list[TensorGroup]


class EvaluationForward(Note, kind="evaluation_forward"):
    """A forward of an evaluation, and what it leaves on the card."""

    phase: str
    root: str
    line: str
    grad_enabled: bool
    inference_mode: bool
    module_training: bool
    has_graph: bool
    saved_bytes: Bytes
    output_bytes: Bytes
    calls: int


class NeedlessCopy(Note, kind="needless_copy"):
    """Copies of the same tensor on the card."""

    operation: str
    line: str
    first_line: str
    shape: str
    bytes: Bytes
    copies: int
    from_host: bool


class WeightCopy(Note, kind="weight_copy"):
    """Weights that are on the card a second time."""

    at_ns: int
    address: Address
    holder: Holder
    tensors: int
    bytes: Bytes


class CheckpointLoad(Note, kind="checkpoint_load"):
    """A checkpoint that was read onto the card; again after the first step, with what was kept of it."""

    line: str
    path: str
    map_location: str
    on_card_bytes: Bytes
    kept_bytes: Bytes
    final: bool
    holder: Holder | None = None


class AttentionScores(Note, kind="attention_scores"):
    """Attention that writes its scores out."""

    operation: str
    line: str
    shape: str
    length: int
    bytes: Bytes
    calls: int


# -- the network's table (--modules)


class ModulesWatched(Note, kind="modules_watched"):
    """Modules are watched: the notes below may follow."""


class ListedModule(Row):
    """A module with what is its own: what lies in modules below it is theirs."""

    name: str
    class_name: str
    parameters: int
    parameter_bytes: Bytes
    buffer_bytes: Bytes


class ModuleList(Note, kind="module_list"):
    """The modules of a model, as in named_modules(); models are numbered from 0 on."""

    root: int
    prefix: str
    modules: list[ListedModule]


class TraceFrame(Row):
    """One call of a module."""

    module: int  # -1: one that the model does not list
    around: int  # the frame it was called in, or -1
    began_ns: int
    ended_ns: int
    output_bytes: Bytes
    inputs: list[str]
    outputs: list[str]


class TraceOperator(Row):
    """One operator; storages are places in `sizes`."""

    frame: int
    name: int  # its place in `names`
    reads: list[int]
    writes: list[int]
    forward_flops: float
    backward_flops: float
    number: int  # Dtype (numbers.py) of its arithmetic
    touched_bytes: float


class TraceAlive(Row):
    """A storage that the forward made and that lived at its end, with its block's size."""

    storage: int
    bytes: Bytes


class TraceOutput(Row):
    """A tensor that the model returned."""

    storage: int  # -1: not on a card
    name: str  # the key it was under, where there was one
    bytes: Bytes


class ModuleTrace(Note, kind="module_trace"):
    """One forward of a model, as calls and operators."""

    root: int
    phase: str
    device: int
    sees_operators: bool  # False: the model is compiled
    cut: bool  # too many operators: the last are missing
    frames: list[TraceFrame]
    names: list[str]
    operators: list[TraceOperator]
    alive: list[TraceAlive]
    sizes: list[Bytes]  # of storages
    inputs: list[int]
    outputs: list[TraceOutput]


class ModuleBytes(Row):
    """Bytes of one module."""

    root: int
    module: int
    bytes: Bytes


class ModuleGradients(Note, kind="module_gradients"):
    """Just before an optimizer steps, when all gradients are there."""

    bytes: list[ModuleBytes]


class ModuleStates(Note, kind="module_states"):
    """State of optimizers."""

    bytes: list[ModuleBytes]


# -- comparing two trainings (vramfit verify)


class TrainingStep(Note, kind="training_step"):
    """An optimizer step begins."""

    optimizer: int
    step: int
    samples: int  # that went through backward by then
    data: float  # the sum of their numbers
    weights: float | None  # at the first step: the sum of the sampled weights
    options: list[dict[str, Number]]  # of each group


class TrainingTensor(Note, kind="training_tensor"):
    """Values of a tensor, evenly spread: up to 64, of an output 2048; of an input the sum of all numbers.

    An average is known by its weight's name or, in a list, by its turn.
    """

    what: TensorKind  # the last two are of an evaluation
    index: str
    values: list[Number]


class TextsCut(Note, kind="texts_cut"):
    """Token sequences are compared by every n-th token."""

    kept: int


class TrainingEnd(Note, kind="training_end"):
    """The steps to compare are over."""


class Snapshot(Note, kind="snapshot"):
    """A memory snapshot of the run."""

    file: str  # in the run folder
    name: str  # of the file that the script dumps it to
    by_script: bool
