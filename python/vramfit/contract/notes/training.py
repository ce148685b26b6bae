"""The model, its optimizers, and what of them a technique may change."""

from __future__ import annotations

from typing import Literal

from vramfit.contract.fields import Bytes, Note, PhaseName, Scalar

GraphOption = Literal["retain_graph", "create_graph"]


class RootModule(Note, kind="root_module"):
    """A model that was called; again, where only its first forward in training tells of batch norms."""

    class_name: str
    parameters: int
    parameter_bytes: Bytes
    at_once_bytes: Bytes  # of those, what modules read that run at the same time: observe/own_weights.py
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
    phase: PhaseName


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


class Compiled(Note, kind="compiled"):
    """A job that trains called torch.compile before its first optimizer step."""

    memory_budget: float | None = None  # of what it would save for backward, the share that it may; None: it has none


class Evaluation(Note, kind="evaluation"):
    """What the first forward of an evaluation was like."""

    gradients: bool  # they were on
    samples: int = 0  # rows of the first tensor that it was given; 0: it was given none


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
