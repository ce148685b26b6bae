"""PyTorch's private names. Those of its data loaders and of its operators are in files of their own."""

from __future__ import annotations

import functools
from contextlib import nullcontext
from types import MappingProxyType
from typing import Any, NamedTuple

from vramfit.private.names import Argument, Attribute, Module, Name, Symbol, nothing

LIBRARY = "torch"
READY: tuple[str, ...] = ()  # torch itself is imported by then, so no submodule is waited for

# -- the card

lazy_call = Name(
    "torch.cuda:_lazy_call", "it is not known which process uses a card, and no error of memory is looked at", nothing
)
is_initialized = Name("torch.cuda:_initialized", "forks and garbage are handled as if no card was in use", False)
count_devices = Name("torch._C:_cuda_getDeviceCount", "libraries may ask for devices too early in a warm process")
attach_oom_observer = Name(
    "torch._C:_cuda_attach_out_of_memory_observer",
    "nothing is looked at in the moment in which memory runs out",
    nothing,
)
set_allocator_settings = Name(
    "torch._C:_accelerator_setAllocatorSettings",
    "settings of the allocator come into force only where PyTorch has not read them yet",
    nothing,
    elsewhere="torch.cuda.memory:_set_allocator_settings",
)
record_memory_history = Name("torch.cuda.memory:_record_memory_history", "there is no history of memory", nothing)
take_snapshot = Name("torch.cuda.memory:_snapshot", "there are no snapshots of memory", lambda *_, **__: {})
dump_snapshot = Name("torch.cuda.memory:_dump_snapshot", "snapshots that the script dumps are not kept", nothing)

generators_of_cards = Name(
    "torch.cuda:default_generators",
    "random numbers that are computed on the host are those of the host's generator",
    (),
)

# -- modules and tensors

parameters = Attribute("torch.nn:Module._parameters", "weights of models beside the trained one are not named")
buffers = Attribute("torch.nn:Module._buffers", "buffers of models beside the trained one are not named")
children = Attribute("torch.nn:Module._modules", "models beside the trained one are not told from its parts")
REGISTERS = frozenset((parameters.name, buffers.name, children.name))
compiled_call = Attribute("torch.nn:Module._compiled_call_impl", "compiled modules are watched as if they were not")
call_module = Name("torch.nn:Module._call_impl", "a model's inputs that are given by name are not seen")
wrapped_call_module = Name("torch.nn:Module._wrapped_call_impl", "a forward pass is taken for a model being loaded")
move_module = Name("torch.nn:Module._apply", "a model that is moved to the card when memory runs out is not named")
original_module = Attribute(
    "torch._dynamo.eval_frame:OptimizedModule._orig_mod", "compiled models have a name of their own", later=True
)
forward_hooks = Attribute("torch.nn:Module._forward_hooks", "modules that a script looks into may be run in tiles")
forward_pre_hooks = Attribute(
    "torch.nn:Module._forward_pre_hooks", "modules that a script looks into may be run in tiles"
)
module_backward_hooks = Attribute("torch.nn:Module._backward_hooks", "hooks that see scaled gradients are not told of")
batch_norm = Name("torch.nn.modules.batchnorm:_BatchNorm", "batch norms count checkpointed batches twice", ())
lazy_tensor = Name("torch.nn.parameter:UninitializedTensorMixin", "lazy modules are asked for memory too early", ())
step_hook = Name(
    "torch.optim:Optimizer.profile_hook_step", "steps of optimizers are not seen by a plan", lambda function: function
)
step_is_hooked = Attribute("torch.optim:Optimizer.hooked", "hooks of an optimizer's step run for each of its turns")
writes = Attribute("torch:Tensor._version", "averages of weights are not told from copies that are never written")
backward_hooks = Attribute("torch:Tensor._backward_hooks", "hooks on gradients are not seen by a plan's techniques")
values_of_sparse = Attribute("torch:Tensor._values", "sparse gradients are not looked at for overflows")
SAVED = "_saved_"  # so begin the names of what a node of autograd has saved
saved_tensor = Attribute("torch._C:_functions.MulBackward0._saved_self", "graphs that a script keeps are not seen")
log_softmax_level = Argument(
    "torch.nn.functional:log_softmax", "_stacklevel", "a log_softmax that gives it is worked out with all of its rows"
)
base_gradient = Attribute("torch:Tensor._grad", "some gradients have no name")
tensor_object = Attribute("torch:Tensor._cdata", "large fills on the host are not put off")
_SCORES = "what attention keeps is not known"
input_metadata = Attribute("torch.autograd.graph:Node._input_metadata", _SCORES)
saved_dim = Attribute("torch._C:_functions.SoftmaxBackward0._saved_dim", _SCORES)
_DIVISORS = "losses that are divided by a number of their batch's own are weighted by samples"
saved_dims = Attribute("torch._C:_functions.RollBackward0._saved_dims", _DIVISORS)
saved_matrix = Attribute("torch._C:_functions.MmBackward0._saved_mat2", _DIVISORS)
base = Attribute("torch:Tensor._base", _DIVISORS)
saved_other = Attribute("torch._C:_functions.DivBackward0._saved_other", _DIVISORS)
saved_factor = Attribute("torch._C:_functions.MulBackward0._saved_other", _DIVISORS)
saved_numel = Attribute("torch._C:_functions.MeanBackward0._saved_self_sym_numel", _DIVISORS)
saved_reduction = Attribute("torch._C:_functions.MseLossBackward0._saved_reduction", _DIVISORS)
saved_weight_of_labels = Attribute("torch._C:_functions.NllLossBackward0._saved_total_weight", _DIVISORS)
saved_indices = Attribute("torch._C:_functions.IndexBackward0._saved_indices", _DIVISORS)
fused_attention = Name("torch:_fused_sdp_choice", "attention that writes its scores out stays as it is")
generator_object = Attribute("torch:Generator._cdata", "large random fills on the host are not put off")
storage_object = Attribute("torch:UntypedStorage._cdata", "storages of a model's operators are not told apart")
storage_uses = Name(
    "torch._C:_storage_Use_Count", "weights that share memory are offloaded as if they did not", lambda _: 0
)
_LAYER = "the last layer is not worked out in chunks"
make_shell = Name("torch:Tensor._make_wrapper_subclass", _LAYER, None)
without_function = Name("torch._C:DisableTorchFunctionSubclass", _LAYER, None)
local_tensor = Attribute(
    "torch.distributed.tensor:DTensor._local_tensor",
    "tensors that are spread over cards have no owner",
    elsewhere="torch.distributed._tensor:DTensor._local_tensor",
    later=True,
)
lazy_methods = Name(
    "torch.nn.parameter:UninitializedTensorMixin._allowed_methods", "modules that are lazy can't be moved", None
)
_COPY = "what holds a copy's memory is not followed"
storage_reference = Name("torch.multiprocessing.reductions:StorageWeakRef", _COPY)
storage_number = Attribute("torch.multiprocessing.reductions:StorageWeakRef.cdata", _COPY)
_expired = Attribute("torch.multiprocessing.reductions:StorageWeakRef.expired", _COPY)


def has_expired(reference: Any) -> bool:
    """Whether a `storage_reference` leads to nothing any more; one that can't be asked does not either."""
    asked = _expired.of(reference)
    return asked is None or bool(asked())


# -- modes, and functions that are stood in for

without_modes = Name(
    "torch.utils._python_dispatch:_disable_current_modes",
    "torch.jit.trace fails where values are computed",
    nullcontext,
)

fuse_scripts = Name(
    "torch._C:_jit_set_texpr_fuser_enabled", "values of networks that TorchScript fuses are unknown", nothing
)
dispatch_mode = Name("torch.utils._python_dispatch:TorchDispatchMode", "values are not followed, nor operators watched")
dispatch_depth = Name("torch._C:_len_torch_dispatch_stack", "modes of the script's are not seen", int)
mode_at = Name("torch._C:_get_dispatch_stack_at", "random fills on the host are made at once where values are followed")
function_depth = Name("torch._C:_len_torch_function_stack", "modes of the script's are not seen", int)
running_mode = Name("torch._C:_get_dispatch_mode", "values are followed while a compiler traces", nothing)
mode_keys = Name("torch._C:_TorchDispatchModeKey", "values are followed while a compiler traces")
key_set = Name("torch._C:DispatchKeySet", "values are not followed")
dispatch_key = Name("torch._C:DispatchKey.CUDA", "values are not followed")
_SEEN = "where values are followed or computed some operators and derivatives take more memory than without"
MODES_OF_THREADS = tuple(  # what virtual_gpu/preload/dispatch_modes.cc stands before, and asks
    Symbol(f"c10::{name}", "libc10.so", (symbol,), _SEEN)
    for name, symbol in (
        ("impl::dispatch_mode_enabled", "_ZN3c104impl21dispatch_mode_enabledEv"),
        ("impl::TorchDispatchModeTLS::stack_len", "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv"),
        ("impl::TorchDispatchModeTLS::get_stack_at", "_ZN3c104impl20TorchDispatchModeTLS12get_stack_atEl"),
    )
)
_UNSEEN = "what tensors hold, and whose they are, is missing from all that is said"
REPORTED = (  # what recorder/profiler_calls.cc stands before: all that is known of blocks comes by these two
    Symbol(
        "c10::reportMemoryUsageToProfiler",
        "libc10.so",
        ("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE",),
        _UNSEEN,
    ),
    Symbol(
        "c10::reportOutOfMemoryToProfiler",
        "libc10.so",
        ("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE",),
        "where it ran out, and what was asked for, is not known",
    ),
)
HOST_MEMORY = tuple(  # what virtual_gpu/preload/host_calls.cc stands before
    Symbol(f"c10::{name}", "libc10.so", (symbol,), "large random fills on the host are not put off")
    for name, symbol in (("alloc_cpu", "_ZN3c109alloc_cpuEm"), ("free_cpu", "_ZN3c108free_cpuEPv"))
)
push_function_mode = Name("torch.overrides:_push_mode", "autocast of a plan can't cover the loss")
pop_function_mode = Name("torch.overrides:_pop_mode", "autocast of a plan can't cover the loss")
has_function_mode = Name("torch._C:_is_torch_function_mode_enabled", "modes of the script's are not seen", bool)
builtin_table = Name("torch.jit._builtins:_get_builtin_table", "scripts that use TorchScript may fail to compile", dict)
device_constructors = Name(
    "torch.utils._device:_device_constructors", "`with torch.device(...)` leaves some functions out", set, later=True
)
default_device = Name("torch._C:_get_default_device", "large random fills on the host are not put off")
parse_to = Name("torch._C:_nn._parse_to", "casts of large tensors on the host are not put off")
cross_entropy_of_probabilities = Name("torch._C:_nn.binary_cross_entropy", "autocast of a plan may be refused there")
flatten_tree = Name(
    "torch.utils._pytree:tree_flatten", "values can't be computed on the CPU", lambda tree, is_leaf=None: ([tree], None)
)
unflatten_tree = Name("torch.utils._pytree:tree_unflatten", "values can't be computed on the CPU")
map_tree = Name("torch.utils._pytree:tree_map", "values can't be computed on the CPU")


@functools.cache
def _depths() -> tuple[Any, Any]:
    return dispatch_depth.get(), function_depth.get()


def runs_in_mode() -> bool:
    """Whether somebody looks at every operator or function here: fake tensors, tracing, a mode of the script's."""
    dispatches, functions = _depths()
    return bool(dispatches() or functions())


def runs_in_mode_of_others(own: type[Any]) -> bool:
    """The same as above, but modes of class `own` do not count: they leave alone whatever is not on a card."""
    dispatches, functions = _depths()
    at = mode_at.get()
    return bool(functions()) or any(at is None or not isinstance(at(i), own) for i in range(dispatches()))


# -- operators

overload = Name("torch._ops:OpOverload", "values are not followed, nor operators watched", type(None))
_schema = Attribute("torch._ops:OpOverload._schema", "operators have no names")
_schema_name = Attribute("torch._C:FunctionSchema.name", "operators have no names")
_schema_arguments = Attribute("torch._C:FunctionSchema.arguments", "what operators write in place is not known")
_schema_returns = Attribute("torch._C:FunctionSchema.returns", "operators over lists are computed at once")
_argument_name = Attribute("torch._C:Argument.name", "what operators write in place is not known")
_argument_alias = Attribute("torch._C:Argument.alias_info", "what operators write in place is not known")
_alias_is_write = Attribute("torch._C:_AliasInfo.is_write", "what operators write in place is not known")
_argument_default = Attribute("torch._C:Argument.default_value", "values that choose are followed without defaults")
namespace = Attribute("torch._ops:OpOverload.namespace", "a module that talks to other ranks is run again under a plan")
redispatch = Attribute("torch._ops:OpOverload.redispatch", "operators are not followed within")
overload_name = Attribute("torch._ops:OpOverload._overloadname", "operators that fill with a tensor are not computed")
_is_view = Attribute("torch._ops:OpOverload.is_view", "views are known by what their schema says of aliases")
decompose = Attribute("torch._ops:OpOverload.decompose", "operators made of others are not computed in inference mode")
packet = Attribute("torch._ops:OpOverload._overloadpacket", "a model's operators have no work to do")


SCHEMA = (_schema, _schema_name, _schema_arguments, _argument_name, _argument_alias, _alias_is_write)


class SchemaArgument(NamedTuple):
    name: str
    is_alias: bool  # the result may show its memory
    is_written: bool
    default: Any


def _argument(told: Any) -> SchemaArgument:
    alias = _argument_alias.of(told)
    is_written = alias is not None and bool(_alias_is_write.of(alias, False))
    return SchemaArgument(_argument_name.of(told, ""), alias is not None, is_written, _argument_default.of(told))


def arguments_of(operator: Any) -> list[SchemaArgument]:
    return [_argument(told) for told in _schema_arguments.of(_schema.of(operator), ())]


def name_of(operator: Any) -> str:
    """With its namespace, "aten::add_"."""
    return str(_schema_name.of(_schema.of(operator), ""))


def returns_something(operator: Any) -> bool:
    return bool(_schema_returns.of(_schema.of(operator), True))


def is_view(operator: Any) -> bool:
    """Whether it only shows memory of an argument in another shape: no argument of a view is written."""
    told = _is_view.of(operator)
    if told is not None:
        return bool(told)
    aliases = [each for each in arguments_of(operator) if each.is_alias]
    return bool(aliases) and not any(each.is_written for each in aliases)


flop_formulas = Name("torch.utils.flop_counter:flop_registry", "a model's operators have no work to do", later=True)
has_kernel = Name(
    "torch._C:_dispatch_has_kernel_for_dispatch_key", "operators made of others are taken for kernels", nothing
)
multiply_each = Name("torch:_foreach_mul_", "gradients of micro-batches can't be weighted")
find_overflow = Name(
    "torch:_amp_foreach_non_finite_check_and_unscale_", "a plan can't scale losses: overflows are not found"
)
negative_view = Name("torch:_neg_view", "negated complex tensors can't be computed on the CPU")

_SPARSE = "sizes and values of sparse tensors are not known"
sparse_places, sparse_entries = (Name(f"torch.ops:aten.{name}", _SPARSE) for name in ("_indices", "_values"))
unique = Name("torch:_unique2", "reads of values by unique() are not noticed")
_SOFTMAX = "softmax of values in half precision is not computed"
SOFTMAXES = MappingProxyType(
    {
        name: Name(f"torch.ops:aten.{name}", _SOFTMAX)
        for name in ("_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data")
    }
)
# at::_ops::<name>::call: the mangled names carry the types of the arguments. Up to 2.3 optional is c10's own.
_LATE = "large random fills on the host are made at once, which takes time"
HOST_FILLS = MappingProxyType(
    {
        name: Symbol(f"at::{name}", "libtorch_cpu.so", tuple(symbols), _LATE)
        for name, *symbols in (
            (
                "normal_",
                "_ZN2at4_ops7normal_4callERNS_6TensorEddSt8optionalINS_9GeneratorEE",
                "_ZN2at4_ops7normal_4callERNS_6TensorEddN3c108optionalINS_9GeneratorEEE",
            ),
            (
                "uniform_",
                "_ZN2at4_ops8uniform_4callERNS_6TensorEddSt8optionalINS_9GeneratorEE",
                "_ZN2at4_ops8uniform_4callERNS_6TensorEddN3c108optionalINS_9GeneratorEEE",
            ),
            ("zero_", "_ZN2at4_ops5zero_4callERNS_6TensorE"),
            ("erfinv_", "_ZN2at4_ops7erfinv_4callERNS_6TensorE"),
            ("fill_", "_ZN2at4_ops12fill__Tensor4callERNS_6TensorERKS2_"),
            ("mul_", "_ZN2at4_ops11mul__Tensor4callERNS_6TensorERKS2_"),
            ("add_", "_ZN2at4_ops11add__Tensor4callERNS_6TensorERKS2_RKN3c106ScalarE"),
            (
                "clamp_",
                "_ZN2at4_ops6clamp_4callERNS_6TensorERKSt8optionalIN3c106ScalarEES9_",
                "_ZN2at4_ops6clamp_4callERNS_6TensorERKN3c108optionalINS4_6ScalarEEES9_",
            ),
            ("copy_", "_ZN2at4_ops5copy_4callERNS_6TensorERKS2_b"),
        )
    }
)

# -- processes, and the compiler

spawn_wrap = Name("torch.multiprocessing.spawn:_wrap", "how a process that PyTorch spawned ended is not told", nothing)
all_groups = Name("torch.distributed.distributed_c10d:_world", "steps of several ranks don't wait for what they send")
groups_of_world = Attribute(
    "torch.distributed.distributed_c10d:_World.pg_map", "steps of several ranks don't wait for what they send"
)
leaf = Attribute(
    "torch._C:_functions.AccumulateGrad.variable",
    "the weights that a graph ends at are not found: fp16 is refused, losses over many classes are not told",
)
wait_for_works = Attribute(
    "torch.distributed:ProcessGroup._wait_for_pending_works", "steps of several ranks don't wait for what they send"
)
set_up_ddp = Name(
    "torch.nn.parallel:DistributedDataParallel._ddp_init_helper", "buckets of gradients have no owner", nothing
)
reducer = Attribute(
    "torch.nn.parallel:DistributedDataParallel.reducer", "buckets of gradients have no owner until they are made anew"
)
rebuild_buckets = Name("torch.distributed:Reducer._rebuild_buckets", "buckets of gradients have no owner", nothing)
disable_dynamo = Name(
    "torch._compile:_disable_dynamo", "the compiler is imported by the first optimizer, which takes seconds"
)
COMPILER = "torch._dynamo"
COMPILER_FOLDER = COMPILER.rpartition(".")[2]
compile_module = Module("torch._compile", disable_dynamo.lost)  # one of the two that ask the compiler for something
COMPILER_SETTINGS = "torch._functorch.config"
memory_budget = Name(  # came with 2.4
    f"{COMPILER_SETTINGS}:activation_memory_budget",
    "what torch.compile saves for backward can't be made less",
    later=True,
    only_with=f"{COMPILER_SETTINGS}:activation_memory_budget_solver",
)
tensor_module = Module("torch._tensor", "a plan that releases gradients takes PyTorch's own looks for the script's")
GENERATED_FILES = "_remote_module_"  # begin with it, in folders of their own: torch.distributed.nn makes them
generated_files = Name(
    "torch.distributed.nn.jit.instantiator:_FILE_PREFIX", "files that PyTorch makes are the script's own", later=True
)
KEPT_DIRECT = "__dynamo_disable"  # where torch._compile keeps a function that it calls past the compiler
_READS_UNNOTICED = "reads of values in compiled code are not noticed"
_CALLBACKS = "torch._dynamo.callback:CompilationCallbackHandler"
compiler_callbacks = Name("torch._dynamo.callback:callback_handler", _READS_UNNOTICED, later=True)
on_compile_start = Attribute(f"{_CALLBACKS}.register_start_callback", _READS_UNNOTICED, later=True)
on_compile_end = Attribute(f"{_CALLBACKS}.register_end_callback", _READS_UNNOTICED, later=True)
