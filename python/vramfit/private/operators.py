"""Operators of PyTorch's whose names begin with an underscore, by what the hooks do with them.

Each is looked up as `torch.ops.aten` has it. Names within names stand for families: of each, one is looked up.
"""

from __future__ import annotations

from vramfit.private.names import Family, Operator

LIBRARY = "torch"
READY: tuple[str, ...] = ()


def names_of(text: str) -> frozenset[str]:
    """The operators' names as the dispatcher spells them."""
    return frozenset("aten::" + name for name in text.split())


def _each(text: str, lost: str, since: str = "") -> dict[str, Operator]:
    return {name: Operator(name, lost, since) for name in text.split()}


def full_names(*groups: dict[str, Operator]) -> frozenset[str]:
    return frozenset(each.full_name for group in groups for each in group.values())


# -- what they do with values

_COUNTED = "what it makes of values is worked out like that of any other"
WITHOUT_VALUES = _each(
    "_pin_memory _cudnn_rnn_flatten_weight _cudnn_init_dropout_state _fused_sdp_choice _assert_async _assert_scalar",
    _COUNTED,
)
COMPARES_TYPES = _each("_has_compatible_shallow_copy_type", _COUNTED)
READS = _each("_local_scalar_dense", "values that the host reads are not followed")
SIZED = _each("_unique _unique2", "reads of values by unique() are not noticed")
_SPARSE = "values of sparse tensors are not worked out with --values cpu"
OF_SPARSE = _each("_indices _values _nnz", _SPARSE)
INDEXED = _each("_index_put_impl_ _unsafe_index", "what masks read of values is not noticed")
COPIES = _each("_to_copy _copy_from", "values are not followed through copies")
ONLY_WRITES = _each("_foreach_copy_ _foreach_zero_", "what they overwrite is taken for read")
MULTIPLIES = _each("_int_mm", "products of whole numbers are not known")
copy = COPIES["_to_copy"]
find_overflows = Family(
    "_amp_foreach_non_finite",
    "_amp_foreach_non_finite_check_and_unscale_",
    "gradients are not known once a scaler looked",
)

# -- products that checkpointing keeps

scaled_product = Operator("_scaled_mm", "products in float8 are worked out twice in checkpointed modules")
COLLECTIVES = "_c10d_functional"  # a namespace of its own: nothing is kept there that could be looked up

# -- those that are worked out on the CPU by other means

_KERNEL = "its values are not worked out with --values cpu"
_EFFICIENT, _FLASH, _CUDNN = (f"_scaled_dot_product_{kind}_attention" for kind in ("efficient", "flash", "cudnn"))
efficient, efficient_backward = Operator(_EFFICIENT, _KERNEL), Operator(f"{_EFFICIENT}_backward", _KERNEL)
flash, flash_backward = Operator(_FLASH, _KERNEL), Operator(f"{_FLASH}_backward", _KERNEL)
cudnn, cudnn_backward = Operator(_CUDNN, _KERNEL), Operator(f"{_CUDNN}_backward", _KERNEL, "2.5")
rms_norm, rms_norm_backward = (Operator(f"_fused_rms_norm{end}", _KERNEL, "2.9") for end in ("", "_backward"))
rnn, rnn_backward = Operator("_cudnn_rnn", _KERNEL), Operator("_cudnn_rnn_backward", _KERNEL)

# -- families

_WORK = "its work is not known, and its values are worked out"
each = Family("_foreach_", "_foreach_add", "operators over lists are worked out as one")
fused = Family("_fused_", "_fused_adamw", "fused optimizers are worked out as one")
attention = Family("_scaled_dot_product_", _FLASH, _WORK)
HEAVY = (
    attention,
    each,
    fused,
    Family("_flash_attention", "_flash_attention_forward", _WORK),
    Family("_efficient_attention", "_efficient_attention_forward", _WORK),
    Family("_rnn", "_cudnn_rnn", _WORK),
    Family("_thnn", "_thnn_fused_lstm_cell", _WORK),
    Family("_linalg_", "_linalg_svd", _WORK),
)
distance = Family("_cdist", "_cdist_forward", _WORK)
