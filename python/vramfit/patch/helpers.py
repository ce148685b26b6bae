"""What a patched file may need beside changed lines: put behind its imports, to be read and kept by the user.

Written as people write them: they are the user's from then on.
"""

from __future__ import annotations

import inspect

from vramfit.apply import fewer_channels
from vramfit.apply.run_again import PRODUCTS
from vramfit.private import torch_pruning as of_pruning

MICRO_BATCHES = '''

class MicroBatches:
    """Batches in parts, with one optimizer step for the parts of each."""

    share, is_first, is_last = 1.0, True, True  # of the part that is worked on
    parts = 0  # of the last loop over the data

    def of(self, loader, size):
        self.parts = 0
        for batch in loader:
            samples = samples_in(batch)
            for begin in range(0, samples, size):
                self.share = min(size, samples - begin) / samples
                self.is_first, self.is_last = begin == 0, begin + size >= samples
                self.parts += 1
                yield part_of(batch, begin, begin + size)
        self.share, self.is_first, self.is_last = 1.0, True, True


def samples_in(batch):
    if isinstance(batch, {torch}.Tensor):
        return len(batch)
    return samples_in(next(iter(batch.values() if isinstance(batch, dict) else batch)))


def part_of(batch, begin, end):
    if isinstance(batch, {torch}.Tensor):
        return batch[begin:end]
    if isinstance(batch, dict):
        return {{name: part_of(value, begin, end) for name, value in batch.items()}}
    return type(batch)(part_of(value, begin, end) for value in batch)


micro_batches = MicroBatches()
'''

# The class's forward asks which module it is of: what is saved or copied of a module is as it was.
_RUN_AGAIN = '''
run_again = weakref.WeakSet()  # modules


def run_again_in_backward(model, names):
    """ABOUT"""
    for module in map(model.get_submodule, names):
        run_again.add(module)
        if not hasattr(type(module).forward, "runs_again"):
            type(module).forward = checkpointed(type(module).forward)


def checkpointed(forward):
    @functools.wraps(forward)
    def run(self, *args, **kwargs):
        if self not in run_again or not (self.training and {torch}.is_grad_enabled()):
            return forward(self, *args, **kwargs)

        def contexts():
            CONTEXTS

        checkpoint = functools.partial({torch}.utils.checkpoint.checkpoint, use_reentrant=False, context_fn=contexts)
        return checkpoint(forward, self, *args, **kwargs)

    run.runs_again = True
    return run


@contextlib.contextmanager
def keeps_statistics(module):
    """Batch norms count a batch once, and not again when they are run again."""
    buffers = ("running_mean", "running_var", "num_batches_tracked")
    norms = [part for part in module.modules() if getattr(part, "running_mean", None) is not None]
    kept = [(norm, name, getattr(norm, name)) for norm in norms for name in buffers]
    for norm, name, buffer in kept:
        setattr(norm, name, buffer.clone())
    try:
        yield
    finally:
        for norm, name, buffer in kept:
            setattr(norm, name, buffer)
'''
RUN_AGAIN = _RUN_AGAIN.replace(
    "ABOUT", "These modules keep no activations: their forward runs again when the backward pass needs them."
).replace("CONTEXTS", "return contextlib.nullcontext(), keeps_statistics(self)")
RUN_AGAIN_NAMES: tuple[str, ...] = ("run_again", "run_again_in_backward", "checkpointed", "keeps_statistics")
# Not `from torch.utils.checkpoint import checkpoint`: what scripts load is often called so.
RUN_AGAIN_IMPORTS = ("import contextlib", "import functools", "import weakref", "import torch.utils.checkpoint")

# The same with PyTorch's selective checkpointing.
_PRODUCTS = "".join(f"    {{torch}}.ops.aten.{name}.default,\n" for name in PRODUCTS)
KEEPS_PRODUCTS = (
    f"\n# Their results are kept: they take the longest to work out.\nkept_products = [\n{_PRODUCTS}]\n"
    + _RUN_AGAIN.replace(
        "ABOUT", "These modules keep results of products alone: the rest of their forward runs again in backward."
    ).replace(
        "CONTEXTS",
        "storing, taking = {torch}.utils.checkpoint.create_selective_checkpoint_contexts(kept_products)\n"
        "            return storing, enter_both(keeps_statistics(self), taking)",
    )
    + """

@contextlib.contextmanager
def enter_both(first, second):
    with first, second:
        yield
"""
)
KEEPS_PRODUCTS_NAMES = (*RUN_AGAIN_NAMES, "kept_products", "enter_both")

SAVED_ON_HOST = '''

def saved_on_host(model, at_least):
    """What the backward pass needs waits in host memory, but for weights and what is smaller than so many bytes."""
    tensors = [*model.parameters(), *model.buffers()]
    weights = {{tensor.untyped_storage().data_ptr() for tensor in tensors}}

    def to_host(tensor):
        small = tensor.numel() * tensor.element_size() < at_least
        if small or not tensor.is_cuda or tensor.untyped_storage().data_ptr() in weights:
            return None, tensor.detach()
        host = {torch}.empty_like(tensor, device="cpu", pin_memory=True)
        return tensor.device, host.copy_(tensor, non_blocking=True)

    def to_card(saved):
        device, tensor = saved
        return tensor if device is None else tensor.to(device, non_blocking=True)

    return {torch}.autograd.graph.saved_tensors_hooks(to_host, to_card)
'''

SCALED = '''

def scaled(loader, scale):
    """Images and label maps of another size, or shorter sequences of tokens."""
    for batch in loader:
        yield rescale(batch, image_sides(batch), scale)


def scaled_side(side, scale):
    """A multiple of 32 stays one: networks that halve five times need it."""
    step = 32 if side % 32 == 0 and side * scale >= 32 else 1
    return max(step, int(side * scale / step + 0.5) * step)


def image_sides(batch):
    if isinstance(batch, {torch}.Tensor):
        return {{batch.shape[-2:]}} if batch.dim() == 4 and min(batch.shape[-2:]) >= 32 else set()
    items = batch.values() if isinstance(batch, dict) else batch if isinstance(batch, (list, tuple)) else ()
    return set().union(*(image_sides(item) for item in items))


def rescale(value, sides, scale):
    if isinstance(value, dict):
        return {{name: rescale(item, sides, scale) for name, item in value.items()}}
    if isinstance(value, (list, tuple)):
        return type(value)(rescale(item, sides, scale) for item in value)
    if not isinstance(value, {torch}.Tensor):
        return value
    if value.dim() in (3, 4) and value.shape[-2:] in sides:
        return rescale_image(value, [scaled_side(side, scale) for side in value.shape[-2:]])
    if not sides and value.dim() == 2 and value.shape[1] >= 32 and not value.is_floating_point():
        return value[:, : scaled_side(value.shape[1], scale)].contiguous()
    return value


def rescale_image(image, sides):
    planes = image if image.dim() == 4 else image.unsqueeze(1)
    smooth = image.dim() == 4 and (image.is_floating_point() or image.dtype == {torch}.uint8)
    how = {{"mode": "bilinear", "align_corners": False}} if smooth else {{"mode": "nearest"}}
    made = {torch}.nn.functional.interpolate(planes.float(), size=sides, **how)
    made = made if image.is_floating_point() else made.round()
    return (made if image.dim() == 4 else made.squeeze(1)).to(image.dtype)
'''

SPARSE_GRADIENTS = '''

def use_sparse_gradients(model):
    """Gradients of embeddings hold the rows alone that a step uses."""
    for layer in model.modules():
        is_bag = isinstance(layer, {torch}.nn.EmbeddingBag) and layer.mode != "max"
        if (is_bag or isinstance(layer, {torch}.nn.Embedding)) and not layer.scale_grad_by_freq:
            layer.sparse = True
'''

UPDATE_IN_BACKWARD = '''

def update_in_backward(optimizer):
    """Updates each parameter as soon as its gradient is there, and frees it: step() finds nothing left to do."""
    step = inspect.unwrap(type(optimizer).step)  # without hooks, which are for the script's own step()
    updated = set()  # since that one

    def update(parameter):
        if parameter in updated:
            raise RuntimeError("a second backward pass before step(): gradients were freed, and do not add up")
        groups = optimizer.param_groups
        group = next(group for group in groups if any(one is parameter for one in group["params"]))
        optimizer.param_groups = [{{**group, "params": [parameter]}}]
        try:
            with {torch}.no_grad():
                step(optimizer)
        finally:
            optimizer.param_groups = groups
        parameter.grad = None
        updated.add(parameter)

    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(update)
    optimizer.register_step_post_hook(lambda *_: updated.clear())
'''

# What a plan itself does: it has the braces of Python, and names of its own.
_FUNCTIONS = (
    fewer_channels.take_channels_out,
    fewer_channels.call_as_in_training,
    fewer_channels.shapes_put_out,
    fewer_channels.shapes_of,
    of_pruning.layers_to_leave,
    of_pruning.is_layer,
)
FEWER_CHANNELS_NAMES = tuple(function.__name__ for function in _FUNCTIONS)
FEWER_CHANNELS = "".join("\n\n" + inspect.getsource(function) for function in _FUNCTIONS)
FEWER_CHANNELS = FEWER_CHANNELS.replace("{", "{{").replace("}", "}}")
