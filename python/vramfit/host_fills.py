"""Large random fills on the host are put off until somebody looks at them (virtual_gpu/host/late_fill.h).

On a virtual card weights are drawn on the host, copied to the card and never read: the copy moves nothing, and the
drawing is most of a run. Here PyTorch's own calls are kept as a program, with the generator's state of that moment, and
the generator moves on as if it had drawn. What is looked at after all gets the very values: PyTorch's own function
writes them then. Each kind of fill is compared with a real one before it is first put off.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vramfit import events, notes

_LARGE = (1 << 20) + 1  # bytes; copies to the card up to 1 MiB are really made, and read
_RANDOM, _UNARY, _BINARY, _COPY, _ADD, _CLAMP = range(1, 7)
_TENSOR, _CONST = "RNS_6TensorE", "RKS2_"
# at::_ops::<name>::call in libtorch_cpu.so: the mangled names carry the types of the arguments.
_SYMBOLS = {
    "normal_": (_RANDOM, "_ZN2at4_ops7normal_4callERNS_6TensorEddSt8optionalINS_9GeneratorEE"),
    "uniform_": (_RANDOM, "_ZN2at4_ops8uniform_4callERNS_6TensorEddSt8optionalINS_9GeneratorEE"),
    "zero_": (_UNARY, "_ZN2at4_ops5zero_4callERNS_6TensorE"),
    "erfinv_": (_UNARY, "_ZN2at4_ops7erfinv_4callERNS_6TensorE"),
    "fill_": (_BINARY, "_ZN2at4_ops12fill__Tensor4callERNS_6TensorERKS2_"),
    "mul_": (_BINARY, "_ZN2at4_ops11mul__Tensor4callERNS_6TensorERKS2_"),
    "add_": (_ADD, "_ZN2at4_ops11add__Tensor4callERNS_6TensorERKS2_RKN3c106ScalarE"),
    "clamp_": (_CLAMP, "_ZN2at4_ops6clamp_4callERNS_6TensorERKSt8optionalIN3c106ScalarEES9_"),
    "copy_": (_COPY, "_ZN2at4_ops5copy_4callERNS_6TensorERKS2_b"),
}
_CHECK_SIZES = (4096, 4101)  # elements


class _Call(ctypes.Structure):
    """vf_host_call."""

    _fields_ = [
        ("signature", ctypes.c_uint64),
        ("function", ctypes.c_void_p),
        ("self", ctypes.c_void_p),
        ("other", ctypes.c_void_p),
        ("generator", ctypes.c_void_p),
        ("first", ctypes.c_double),
        ("second", ctypes.c_double),
    ]


@dataclass
class _Step:
    """One operation of a program, for any tensor of that shape."""

    name: str
    first: float = 0.0
    second: float = 0.0
    state: Any = None  # of the generator, before it
    region: tuple[Any, Any, int] | None = None  # size, stride and offset of the view it writes; None = all


@dataclass
class _Program:
    """What is to be written to one allocation."""

    number: int
    shape: Any
    dtype: Any
    steps: list[_Step]
    alias: Any  # a tensor over the reserved memory
    alive: list[Any] = field(default_factory=list)  # tensors and generators that the calls name
    scratch: list[tuple[int, int]] = field(default_factory=list)  # further reserved memory, to be given back


class _Fills:
    def __init__(self) -> None:
        self.on = False
        self.library: Any = None
        self.functions: dict[str, int] = {}
        self.rules: dict[tuple[str, Any], Callable[[int], int] | None] = {}
        self.programs: dict[int, tuple[int, _Program]] = {}  # by number: address, program
        self.by_address: dict[int, _Program] = {}
        self.originals: dict[str, Any] = {}
        self.watched: dict[str, tuple[Any, Any]] = {}  # methods of Tensor: what was there, what is there now


_fills = _Fills()


def _library() -> Any:
    library = ctypes.PyDLL(None)
    try:
        library.vramfit_host_enable.restype = None
    except AttributeError:
        return None
    unsigned, pointer = ctypes.c_uint64, ctypes.c_void_p
    for name, arguments in (
        ("allocation", (unsigned,)),
        ("reserve", (unsigned,)),
        ("defer", (unsigned, unsigned, ctypes.POINTER(_Call), unsigned)),
        ("over", (ctypes.POINTER(unsigned), unsigned)),
        ("deferred_bytes", ()),
        ("filled_bytes", ()),
    ):
        function = getattr(library, f"vramfit_host_{name}")
        function.restype, function.argtypes = unsigned, arguments
    library.vramfit_host_append.argtypes = (unsigned, ctypes.POINTER(_Call))
    library.vramfit_host_release.argtypes = (unsigned, unsigned)
    library.vramfit_host_skip.argtypes = (pointer, unsigned)
    return library


def _find_functions(torch: Any) -> dict[str, int]:
    path = os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so")
    library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    found = {}
    for name, (_, symbol) in _SYMBOLS.items():
        address = ctypes.cast(getattr(library, symbol, None), ctypes.c_void_p).value if _has(library, symbol) else None
        if address:
            found[name] = address
    return found


def _has(library: Any, symbol: str) -> bool:
    try:
        getattr(library, symbol)
    except AttributeError:
        return False
    return True


def _drain() -> None:
    """Lets go of programs that are over."""
    numbers = (ctypes.c_uint64 * 64)()
    while count := _fills.library.vramfit_host_over(numbers, 64):
        for number in numbers[:count]:
            address, program = _fills.programs.pop(number, (0, None))
            if program is None:
                continue
            if _fills.by_address.get(address) is program:
                del _fills.by_address[address]
            for reserved, size in program.scratch:
                _fills.library.vramfit_host_release(reserved, size)


def _tensor_over(address: int, shape: Any, dtype: Any) -> Any:
    torch = sys.modules["torch"]
    size = shape.numel() * dtype.itemsize
    with torch.inference_mode(False):
        return torch.frombuffer((ctypes.c_uint8 * size).from_address(address), dtype=dtype).view(shape)


def _is_plain(tensor: Any) -> bool:
    torch = sys.modules["torch"]
    return (
        type(tensor) in (torch.Tensor, torch.nn.Parameter)
        and tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and not (tensor.requires_grad and torch.is_grad_enabled())
        and tensor.grad_fn is None
        and torch._C._len_torch_dispatch_stack() == 0
        and torch._C._len_torch_function_stack() == 0
        and not tensor.is_conj()
        and not tensor.is_neg()
    )


def _whole_address(tensor: Any) -> int:
    """Where the allocation lies that a tensor is all of; 0 when it is none of ours, or only a part."""
    size = tensor.numel() * tensor.element_size()
    if size < _LARGE or not tensor.is_contiguous():
        return 0
    storage = tensor.untyped_storage()
    address = storage.data_ptr()
    if storage.nbytes() != size or tensor.storage_offset() != 0:
        return 0
    return address if _fills.library.vramfit_host_allocation(address) >= size else 0


def _call_of(step: _Step, alias: Any, alive: list[Any], other: Any = None) -> _Call:
    torch = sys.modules["torch"]
    signature = _SYMBOLS[step.name][0]
    target = alias if step.region is None else alias.as_strided(*step.region)
    alive.append(target)
    generator = None
    if step.state is not None:
        generator = torch.Generator()
        generator.set_state(step.state)
        alive.append(generator)
    elif signature in (_BINARY, _ADD):
        other = torch.tensor(step.first, dtype=torch.float64)
    if other is not None:
        alive.append(other)
    return _Call(
        signature,
        _fills.functions[step.name],
        target._cdata,
        other._cdata if other is not None else None,
        generator._cdata if generator is not None else None,
        step.first,
        step.second,
    )


def _defer(tensor: Any, address: int, steps: list[_Step], cast_from: Any = None) -> bool:
    """Puts off `steps` on a tensor that is all of an allocation; with `cast_from`, on one of that type, then copied."""
    _drain()
    size = _fills.library.vramfit_host_allocation(address)
    reserved = _fills.library.vramfit_host_reserve(size)
    if not reserved:
        return False
    alive: list[Any] = []
    scratch: list[tuple[int, int]] = []
    alias = _tensor_over(reserved, tensor.shape, tensor.dtype)
    written = alias
    if cast_from is not None:
        source_size = tensor.numel() * cast_from.itemsize
        scratch.append((_fills.library.vramfit_host_reserve(source_size), source_size))
        written = _tensor_over(scratch[0][0], tensor.shape, cast_from)
    calls = [_call_of(step, written, alive) for step in steps]
    if cast_from is not None:
        calls.append(_call_of(_Step("copy_"), alias, alive, other=written))
    number = _fills.library.vramfit_host_defer(address, reserved, (_Call * len(calls))(*calls), len(calls))
    if not number:
        _fills.library.vramfit_host_release(reserved, size)
        return False
    # A cast's steps can't be repeated from its own values: it takes no further cast.
    program = _Program(number, tensor.shape, tensor.dtype, [] if cast_from else steps, alias, alive, scratch)
    _fills.programs[number] = (address, program)
    _fills.by_address[address] = program
    _watch()
    return True


# How many numbers a fill of so many elements may take from the generator: normal_() works on 16 at a time, and what
# is over is made anew or made whole (aten/src/ATen/native/cpu/DistributionTemplates.h). Which holds is tried out.
_RULES: tuple[Callable[[int], int], ...] = (
    lambda elements: elements,
    lambda elements: elements + (16 if elements % 16 else 0),
    lambda elements: (elements + 15) // 16 * 16,
)


def _skipped(state: Any, dtype: Any, numbers: int) -> Any:
    """The generator's state after so many random numbers of a type: one draw of 32 bits each, two for doubles."""
    moved = state.clone()
    _fills.library.vramfit_host_skip(moved.data_ptr(), numbers * (2 if dtype.itemsize == 8 else 1))
    return moved


def _rule_of(name: str, dtype: Any) -> Callable[[int], int] | None:
    """How many numbers this kind of fill takes; None unless, put off, it gives exactly what a real one gives."""
    key = (name, dtype)
    if key not in _fills.rules:
        _fills.rules[key] = None
        try:
            _fills.rules[key] = _find_rule(name, dtype)
        except Exception as error:
            notes.hook_failed("host_fills.check", error)
    return _fills.rules[key]


def _find_rule(name: str, dtype: Any) -> Callable[[int], int] | None:
    torch = sys.modules["torch"]
    first, second = (0.0, 0.02) if name == "normal_" else (-0.03, 0.05)
    rules = list(_RULES)
    with torch.inference_mode(False), torch.no_grad():
        for elements in (*_CHECK_SIZES, _LARGE // dtype.itemsize + 5):
            real, late = (torch.empty(elements, dtype=dtype, device="cpu") for _ in range(2))
            generator = torch.Generator().manual_seed(elements)
            state = generator.get_state()
            _fills.originals[name](real, first, second, generator=generator)
            after = generator.get_state()
            rules = [rule for rule in rules if torch.equal(_skipped(state, dtype, rule(elements)), after)]
        same = bool(rules) and _is_same_when_late(real, late, _Step(name, first, second, state))
    return rules[0] if same else None


def _is_same_when_late(real: Any, late: Any, fill: _Step) -> bool:
    torch = sys.modules["torch"]
    steps = [fill]
    for step in (_Step("erfinv_"), _Step("mul_", 0.3), _Step("add_", 0.01), _Step("clamp_", -0.01, 0.01)):
        if real.dtype is torch.float32 and step.name in _fills.functions:
            steps.append(step)
            _apply(step, real)
    if not _defer(late, _whole_address(late), steps):
        return False
    bits = {2: torch.int16, 4: torch.int32, 8: torch.int64}[real.element_size()]
    return bool(torch.equal(real.view(bits), late.view(bits)))


def _apply(step: _Step, tensor: Any) -> None:
    arguments = {"clamp_": (step.first, step.second), "erfinv_": ()}.get(step.name, (step.first,))
    _fills.originals.get(step.name, getattr(type(tensor), step.name))(tensor, *arguments)


def _put_off(tensor: Any, name: str, first: float, second: float, generator: Any) -> bool:
    """Puts a fill off and moves the generator on; False: it is to be made now."""
    torch = sys.modules["torch"]
    if not _is_plain(tensor) or not tensor.dtype.is_floating_point or tensor.dtype.itemsize not in (2, 4, 8):
        return False
    address = _whole_address(tensor)
    rule = _rule_of(name, tensor.dtype) if address else None
    if rule is None:
        return False
    generator = torch.default_generator if generator is None else generator
    if generator.device.type != "cpu":
        return False
    state = generator.get_state()
    if not _defer(tensor, address, [_Step(name, float(first), float(second), state)]):
        return False
    generator.set_state(_skipped(state, tensor.dtype, rule(tensor.numel())))
    torch.autograd.graph.increment_version(tensor)
    return True


def _guarded(function: Callable[..., bool], *arguments: Any) -> bool:
    try:
        return function(*arguments)
    except Exception as error:
        notes.hook_failed("host_fills", error)
        return False


def _random_method(torch: Any, name: str, names: tuple[str, str], defaults: tuple[float, float]) -> Callable[..., Any]:
    original = _fills.originals[name]
    is_compiling = torch.compiler.is_compiling

    @functools.wraps(original)
    def fill(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _fills.on or is_compiling() or len(args) > 2 or kwargs.keys() - {*names, "generator"}:
            return original(self, *args, **kwargs)
        values = dict(zip(names, args), **{key: kwargs[key] for key in names if key in kwargs})
        first, second = (values.get(key, default) for key, default in zip(names, defaults))
        is_right = second >= 0 if name == "normal_" else first <= second
        if is_right and _guarded(_put_off, self, name, first, second, kwargs.get("generator")):
            return self
        return original(self, *args, **kwargs)

    return fill


def _factory(torch: Any, name: str, method: str, second: float) -> Callable[..., Any]:
    """torch.randn and torch.rand: torch.empty and a fill."""
    original = getattr(torch, name)
    is_compiling = torch.compiler.is_compiling
    plain = {"dtype", "device", "requires_grad", "generator"}

    @functools.wraps(original)
    def make(*size: Any, **kwargs: Any) -> Any:
        if not _fills.on or is_compiling() or kwargs.keys() - plain or not _is_large(size, kwargs.get("dtype")):
            return original(*size, **kwargs)
        generator, requires_grad = kwargs.get("generator"), bool(kwargs.get("requires_grad"))
        made = torch.empty(*size, dtype=kwargs.get("dtype"), device=kwargs.get("device"))
        if not _guarded(_put_off, made, method, 0.0, second, generator):
            return original(*size, **kwargs)
        return made.requires_grad_(requires_grad)

    return make


def _is_large(size: tuple[Any, ...], dtype: Any) -> bool:
    numbers = size[0] if len(size) == 1 and isinstance(size[0], (tuple, list)) else size
    elements = 1
    for number in numbers:
        if type(number) is not int:
            return False
        elements *= number
    return elements * (dtype or sys.modules["torch"].get_default_dtype()).itemsize >= _LARGE


# -- what is done to a tensor whose fill was put off, before anybody looks: as long as models are being made


def _follow(name: str, original: Any) -> Callable[..., Any]:
    keys = {"clamp_": ("min", "max"), "erfinv_": (), "zero_": ()}.get(name, ("value" if name == "fill_" else "other",))

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _fills.by_address and len(args) + len(kwargs) == len(keys) and not kwargs.keys() - set(keys):
            values = [*args, *(kwargs[key] for key in keys[len(args) :] if key in kwargs)]
            if len(values) == len(keys) and _guarded(_append, self, name, values):
                return self
        return original(self, *args, **kwargs)

    return method


def _append(tensor: Any, name: str, values: list[Any]) -> bool:
    if name not in _fills.functions or not all(type(value) in (int, float) for value in values):
        return False
    if not _is_plain(tensor):
        return False
    address = tensor.untyped_storage().data_ptr()
    program = _fills.by_address.get(address)
    if program is None or program.dtype != tensor.dtype:
        return False
    numbers = [float(value) for value in values] + [0.0, 0.0]
    region = (tuple(tensor.shape), tensor.stride(), tensor.storage_offset())
    step = _Step(name, numbers[0], numbers[1], None, region)
    call = _call_of(step, program.alias, program.alive)
    if not _fills.library.vramfit_host_append(address, ctypes.byref(call)):
        return False
    program.steps = [*program.steps, step] if program.steps else []
    sys.modules["torch"].autograd.graph.increment_version(tensor)
    return True


def _cast(tensor: Any, device: Any, dtype: Any, non_blocking: bool) -> Any:
    """The tensor in another type, put off like its source; None: it is to be made now."""
    torch = sys.modules["torch"]
    if not _is_plain(tensor) or dtype is None or dtype == tensor.dtype or not dtype.is_floating_point:
        return None
    program = _fills.by_address.get(_whole_address(tensor))
    if program is None or not program.steps or program.dtype != tensor.dtype or program.shape != tensor.shape:
        return None
    if "copy_" not in _fills.functions or (device is not None and device.type not in ("cpu", "cuda")):
        return None
    made = torch.empty(tensor.shape, dtype=dtype, device="cpu")
    address = _whole_address(made)
    if not address or not _defer(made, address, program.steps, cast_from=tensor.dtype):
        return None
    return made if device is None or device.type == "cpu" else made.to(device, non_blocking=non_blocking)


def _casting(fixed: Any, original: Any) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = None
        if _fills.by_address:
            try:
                made = _cast_call(self, fixed, args, kwargs)
            except Exception as error:
                notes.hook_failed("host_fills.cast", error)
        return original(self, *args, **kwargs) if made is None else made

    return method


def _cast_call(tensor: Any, fixed: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    if fixed is not None:
        return None if args or kwargs else _cast(tensor, None, fixed, False)
    torch = sys.modules["torch"]
    if args and isinstance(args[0], torch.Tensor) or {"other", "memory_format", "copy"} & kwargs.keys():
        return None
    if len(args) > 3:  # the fourth is `copy`, which _parse_to refuses
        return None
    device, dtype, non_blocking, _ = torch._C._nn._parse_to(*args, **kwargs)
    return _cast(tensor, device, dtype, non_blocking)


def _watch() -> None:
    if _fills.watched:
        return
    tensor = sys.modules["torch"].Tensor
    for name in ("zero_", "erfinv_", "fill_", "mul_", "add_", "clamp_"):
        _replace(tensor, name, _follow(name, getattr(tensor, name)))
    for name, dtype in _casts(sys.modules["torch"]).items():
        _replace(tensor, name, _casting(dtype, getattr(tensor, name)))


def _replace(owner: Any, name: str, method: Callable[..., Any]) -> None:
    _fills.watched[name] = (owner.__dict__.get(name), method)
    setattr(owner, name, method)


def _casts(torch: Any) -> dict[str, Any]:
    return {
        "to": None,
        "half": torch.float16,
        "bfloat16": torch.bfloat16,
        "float": torch.float32,
        "double": torch.float64,
    }


def _unwatch(*_: Any) -> None:
    """A model runs: what is done to tensors from here on is training, which should cost nothing more."""
    tensor = sys.modules["torch"].Tensor
    for name, (before, method) in list(_fills.watched.items()):
        if tensor.__dict__.get(name) is not method:
            continue  # somebody else stands before it now
        if before is None:
            delattr(tensor, name)  # the base class has the original
        else:
            setattr(tensor, name, before)
        del _fills.watched[name]


def begin() -> None:
    """As the environment of this job says."""
    from vramfit import values

    virtual = os.environ.get("VRAMFIT_LEDGER") and os.environ.get("VRAMFIT_REAL") != "1"
    _fills.on = bool(virtual and values.policy() != "cpu" and _fills.functions and _fills.library is not None)
    if _fills.library is not None:
        _fills.library.vramfit_host_enable(int(_fills.on))


def install(torch: Any) -> None:
    _fills.library = _library()
    if _fills.library is None:
        return
    _fills.functions = _find_functions(torch)
    for name in _SYMBOLS:
        _fills.originals[name] = getattr(torch.Tensor, name)
    if not {"normal_", "uniform_"} <= _fills.functions.keys():
        return
    torch.Tensor.normal_ = _random_method(torch, "normal_", ("mean", "std"), (0.0, 1.0))
    torch.Tensor.uniform_ = _random_method(torch, "uniform_", ("from", "to"), (0.0, 1.0))
    torch.randn = _factory(torch, "randn", "normal_", 1.0)
    torch.rand = _factory(torch, "rand", "uniform_", 1.0)
    events.root_enter.listen(_unwatch)
    begin()
