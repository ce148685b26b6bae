"""Operators on the virtual card: elementwise, matrix products, reductions, indexing, transforms, random numbers.

These files run inside a virtual card; test_operator_suite.py starts them there."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from operator_check import DEVICE, check_backward, check_forward, make, needs_card, same_kind, since

f16, bf16, f32, f64 = torch.float16, torch.bfloat16, torch.float32, torch.float64
c64, c128, i8, i32, i64, boolean = torch.complex64, torch.complex128, torch.int8, torch.int32, torch.int64, torch.bool
FLOATS = [f16, bf16, f32, f64]


def named(cases: dict[str, tuple]) -> list:
    return [pytest.param(*case, id=name) for name, case in cases.items()]


ELEMENTWISE = {
    "add": (torch.add, 2),
    "mul": (torch.mul, 2),
    "div": (torch.div, 2),
    "pow": (torch.pow, 2),
    "exp": (torch.exp, 1),
    "log": (torch.log, 1),
    "sqrt": (torch.sqrt, 1),
    "tanh": (torch.tanh, 1),
    "sigmoid": (torch.sigmoid, 1),
    "relu": (F.relu, 1),
    "gelu": (F.gelu, 1),
    "silu": (F.silu, 1),
    "mish": (F.mish, 1),
    "softplus": (F.softplus, 1),
    "elu": (F.elu, 1),
    "leaky_relu": (F.leaky_relu, 1),
    "hardswish": (F.hardswish, 1),
    "erf": (torch.erf, 1),
    "where": (lambda a, b: torch.where(a > 0, a, b), 2),
    "clamp": (lambda a: a.clamp(0, 1), 1),
    "maximum": (torch.maximum, 2),
    "lerp": (lambda a, b: torch.lerp(a, b, 0.5), 2),
    "addcmul": (torch.addcmul, 3),
    "isnan": (torch.isnan, 1),
    "compare": (torch.lt, 2),
    "softmax": (lambda a: a.softmax(-1), 1),
    "log_softmax": (lambda a: a.log_softmax(-1), 1),
    "cast": (lambda a: a.to(f32) + 1, 1),
    "cat": (lambda a, b: torch.cat([a, b]), 2),
    "stack": (lambda a, b: torch.stack([a, b]), 2),
    "roll": (lambda a: a.roll(3, 0), 1),
    "flip": (lambda a: a.flip(0), 1),
    "tril": (torch.tril, 1),
    "contiguous": (lambda a: a.t().contiguous(), 1),
    "repeat": (lambda a: a.repeat(2, 3), 1),
    "pad": (lambda a: F.pad(a, (1, 2)), 1),
    "cumsum": (lambda a: a.cumsum(0), 1),
    "nan_to_num": (torch.nan_to_num, 1),
}


@needs_card
@pytest.mark.parametrize("dtype", [f32, f16, bf16], ids=str)
@pytest.mark.parametrize(("function", "count"), named(ELEMENTWISE))
def test_elementwise(function, count, dtype) -> None:
    check_forward(function, [(37, 41)] * count, dtype)


PRODUCTS = {
    "mm": (torch.mm, [(64, 32), (32, 16)]),
    "mv": (torch.mv, [(64, 32), (32,)]),
    "bmm": (torch.bmm, [(5, 64, 32), (5, 32, 16)]),
    "dot": (torch.dot, [(64,), (64,)]),
    "vdot": (torch.vdot, [(64,), (64,)]),
    "outer": (torch.outer, [(64,), (32,)]),
    "addmm": (torch.addmm, [(64, 16), (64, 32), (32, 16)]),
    "baddbmm": (torch.baddbmm, [(5, 64, 16), (5, 64, 32), (5, 32, 16)]),
    "linear": (F.linear, [(4, 64, 32), (16, 32), (16,)]),
    "einsum": (lambda a, b: torch.einsum("bij,bjk->bik", a, b), [(2, 3, 4), (2, 4, 5)]),
    "matmul broadcast": (torch.matmul, [(3, 1, 8, 4), (2, 4, 6)]),
    "transposed": (lambda a, b: a.t() @ b, [(32, 64), (32, 16)]),
}


@needs_card
@pytest.mark.parametrize("dtype", [*FLOATS, c64, c128], ids=str)
@pytest.mark.parametrize(("function", "shapes"), named(PRODUCTS))
def test_products(function, shapes, dtype) -> None:
    check_forward(function, shapes, dtype)


@needs_card
@pytest.mark.parametrize(("function", "shapes"), named(PRODUCTS))
def test_products_backward(function, shapes) -> None:
    check_backward(function, shapes)


@needs_card
def test_a_product_with_a_gelu_epilogue() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.GELU()).to(DEVICE).half()
    assert net(torch.ones(64, 512, device=DEVICE, dtype=f16)).shape == (64, 512)
    out = torch._addmm_activation(
        *(torch.ones(s, device=DEVICE, dtype=f16) for s in [(64,), (8, 32), (32, 64)]), use_gelu=True
    )
    assert out.shape == (8, 64) and out.dtype == f16


@needs_card
def test_an_eight_bit_integer_product() -> None:
    a, b = (torch.ones(32, 32, device=DEVICE, dtype=i8) for _ in range(2))
    before = torch.cuda.memory_allocated()
    out = torch._int_mm(a, b)
    assert out.dtype == i32 and torch.cuda.memory_allocated() - before >= 32 * 32 * 4


@needs_card
@pytest.mark.parametrize("out", [bf16, f32], ids=str)
def test_an_eight_bit_float_product(out) -> None:
    a = torch.ones(64, 128, device=DEVICE).to(torch.float8_e4m3fn)
    b = torch.ones(32, 128, device=DEVICE).to(torch.float8_e4m3fn).t()
    one = torch.ones((), device=DEVICE)
    result = torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=out)
    assert result.shape == (64, 32) and result.dtype == out


REDUCTIONS = {
    "sum": torch.sum,
    "mean": torch.mean,
    "prod": torch.prod,
    "std": torch.std,
    "var": torch.var,
    "norm": torch.linalg.vector_norm,
    "max dim": lambda a: a.max(dim=1),
    "min": torch.min,
    "argmax": lambda a: a.argmax(1),
    "amax": lambda a: a.amax(0),
    "logsumexp": lambda a: a.logsumexp(1),
    "any": lambda a: (a > 0).any(0),
    "all": lambda a: (a > 0).all(),
    "median": lambda a: a.median(1),
    "kthvalue": lambda a: a.kthvalue(3, 1),
    "cummax": lambda a: a.cummax(1),
    "cumprod": lambda a: a.cumprod(1),
    "logcumsumexp": lambda a: a.logcumsumexp(1),
    "count_nonzero": lambda a: a.count_nonzero(1),
    "var_mean": lambda a: torch.var_mean(a, 1),
    "histc": lambda a: a.histc(10, 0, 1),
    "mode": lambda a: a.mode(1),
    "aminmax": torch.aminmax,
    "quantile": lambda a: a.quantile(0.5, dim=1),
}


@needs_card
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name) -> None:
    check_forward(REDUCTIONS[name], [(23, 57)], f32)


def index(*shape: int) -> torch.Tensor:
    return torch.zeros(shape, dtype=i64)


INDEXING = {
    "gather": lambda a: a.gather(1, index(10, 3).to(a.device)),
    "index_select": lambda a: a.index_select(0, index(4).to(a.device)),
    "take": lambda a: a.take(index(5).to(a.device)),
    "advanced": lambda a: a[index(7).to(a.device)],
    "scatter": lambda a: a.scatter(1, index(10, 3).to(a.device), 1.0),
    "scatter_add": lambda a: a.scatter_add(1, index(10, 20).to(a.device), a),
    "index_add": lambda a: a.index_add(0, index(3).to(a.device), a[:3]),
    "index_copy": lambda a: a.index_copy(0, index(1).to(a.device), a[:1]),
    "index_put": lambda a: a.index_put((index(4).to(a.device),), a[:4], accumulate=True),
    "scatter_reduce": lambda a: a.scatter_reduce(1, index(10, 20).to(a.device), a, "amax"),
    "sort": torch.sort,
    "stable sort": lambda a: a.sort(stable=True),
    "argsort": torch.argsort,
    "topk": lambda a: a.topk(5),
    "searchsorted": lambda a: torch.searchsorted(a, a),
    "bucketize": lambda a: torch.bucketize(a, a[0]),
    "masked_fill": lambda a: a.masked_fill(a > 0, 0),
    "one_hot": lambda a: F.one_hot(a[0].long(), 3),
    "embedding": lambda a: F.embedding(index(4, 6).to(a.device), a),
    "embedding_bag": lambda a: F.embedding_bag(index(4, 6).to(a.device), a),
    "diagonal copy": lambda a: a.diagonal().clone(),
    "trace": lambda a: a[:5, :5].trace(),
    "unfold": lambda a: a.unfold(0, 3, 2).contiguous(),
    "meshgrid": lambda a: torch.meshgrid(a[0], a[1], indexing="ij")[0].contiguous(),
    "cdist": lambda a: torch.cdist(a, a),
}


@needs_card
@pytest.mark.parametrize("name", INDEXING)
def test_indexing_and_sorting(name) -> None:
    function = INDEXING[name]
    expected = function(torch.ones(10, 20))
    found = function(torch.ones(10, 20, device=DEVICE))
    same_kind(found[:3] if name == "embedding_bag" else found, expected[:3] if name == "embedding_bag" else expected)


DATA_DEPENDENT = {
    "nonzero": (lambda a: (a > 0).nonzero(), (0, 1)),
    "boolean index": (lambda a: a[a > 0], (0,)),
    "masked_select": (lambda a: a.masked_select(a > 0), (0,)),
    "argwhere": (lambda a: torch.argwhere(a > 0), (0, 1)),
}


@needs_card
@pytest.mark.parametrize(("function", "shape"), named(DATA_DEPENDENT))
def test_sizes_that_depend_on_kernel_results_read_as_zeros(function, shape) -> None:
    assert tuple(function(torch.randn(100, device=DEVICE)).shape) == shape


@needs_card
def test_unique_bincount_and_repeat_interleave_give_a_size() -> None:
    assert torch.randint(0, 5, (100,), device=DEVICE).unique().numel() <= 100
    assert torch.randint(0, 5, (100,), device=DEVICE).bincount(minlength=5).shape[0] >= 5
    assert torch.unique_consecutive(torch.zeros(10, device=DEVICE)).dim() == 1
    assert torch.arange(3, device=DEVICE).repeat_interleave(4).shape == (12,)
    repeats = torch.tensor([1, 2, 3], device=DEVICE)
    assert torch.arange(3, device=DEVICE).repeat_interleave(repeats, output_size=6).shape == (6,)


@needs_card
def test_repeats_on_the_card_without_an_output_size() -> None:
    repeats = torch.tensor([1, 2, 3], device=DEVICE)  # from the host: its values are known
    assert torch.arange(3, device=DEVICE).repeat_interleave(repeats).shape == (6,)
    assert torch.repeat_interleave(torch.ones(2, 3, device=DEVICE), repeats, dim=1).shape == (2, 6)
    assert torch.repeat_interleave(repeats).shape == (6,)
    assert torch.ones(2, 3, device=DEVICE).repeat_interleave(repeats[1:2], 0).shape == (4, 3)
    assert torch.ones(3, device=DEVICE).repeat_interleave(repeats + 1).shape == (0,)  # a kernel's: zeros


@needs_card
def test_host_values_survive_the_round_trip() -> None:
    assert torch.tensor(3.5, device=DEVICE).item() == 3.5
    assert torch.tensor([1, 2, 3], device=DEVICE).cpu().tolist() == [1, 2, 3]
    assert torch.tensor([1, 2, 3]).pin_memory().to(DEVICE, non_blocking=True).tolist() == [1, 2, 3]
    assert torch.randn(4, device=DEVICE).add(1).tolist() == [0.0] * 4  # kernels do nothing: zeros


RANDOM = {
    "randn": lambda: torch.randn(50, 3, device=DEVICE),
    "randint": lambda: torch.randint(0, 5, (50, 3), device=DEVICE),
    "rand half": lambda: torch.rand(50, 3, device=DEVICE, dtype=f16),
    "normal": lambda: torch.empty(50, 3, device=DEVICE).normal_(),
    "bernoulli": lambda: torch.full((50, 3), 0.5, device=DEVICE).bernoulli(),
    "exponential": lambda: torch.empty(50, 3, device=DEVICE).exponential_(),
    "arange": lambda: torch.arange(150, device=DEVICE).view(50, 3),
    "linspace": lambda: torch.linspace(0, 1, 150, device=DEVICE).view(50, 3),
    "eye": lambda: torch.eye(50, 3, device=DEVICE),
    "full": lambda: torch.full((50, 3), 7, device=DEVICE),
    "cauchy": lambda: torch.empty(50, 3, device=DEVICE).cauchy_(),
    "multinomial": lambda: torch.ones(50, 10, device=DEVICE).multinomial(3),
    "uniform": lambda: torch.empty(50, 3, device=DEVICE).uniform_(),
}


@needs_card
@pytest.mark.parametrize("name", RANDOM)
def test_fills_and_random_numbers(name) -> None:
    assert tuple(RANDOM[name]().shape) == (50, 3)


@needs_card
def test_random_permutations_and_generators() -> None:
    assert torch.randperm(100, device=DEVICE).shape == (100,)
    generator = torch.Generator(device=DEVICE).manual_seed(3)
    assert torch.rand(4, device=DEVICE, generator=generator).shape == (4,) and generator.initial_seed() == 3
    torch.cuda.manual_seed_all(5)
    state = torch.cuda.get_rng_state()
    torch.cuda.set_rng_state(state)


TRANSFORMS = {
    "fft": torch.fft.fft,
    "ifft": torch.fft.ifft,
    "fft2": torch.fft.fft2,
    "fftn": torch.fft.fftn,
    "rfft": torch.fft.rfft,
    "rfft2": torch.fft.rfft2,
    "irfft": lambda a: torch.fft.irfft(torch.fft.rfft(a)),
    "hfft": torch.fft.hfft,
    "fftshift": torch.fft.fftshift,
    "long": lambda a: torch.fft.fft(a.repeat(1, 1, 400)),
    "stft": lambda a: torch.stft(a[0], 16, window=torch.ones(16, device=a.device), return_complex=True),
}


@needs_card
@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("name", [n for n in TRANSFORMS])
def test_fourier_transforms(name, dtype) -> None:
    if name == "stft" and dtype == f64:
        dtype = f32
    same_kind(TRANSFORMS[name](make((3, 16, 64), dtype, DEVICE)), TRANSFORMS[name](make((3, 16, 64), dtype, "cpu")))


SPECIAL = [
    "bessel_j0",
    "bessel_y1",
    "i0e",
    "i1",
    "gammaln",
    "digamma",
    "erfcx",
    "ndtri",
    "log_ndtr",
    "modified_bessel_k0",
    "spherical_bessel_j0",
    "airy_ai",
    "zeta",
    "chebyshev_polynomial_t",
]


@needs_card
@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_some_of_them_compiled_at_run_time(name) -> None:
    function = getattr(torch.special, name)
    arguments = [torch.ones(10, device=DEVICE)] * (2 if name in ("zeta", "chebyshev_polynomial_t") else 1)
    assert function(*arguments).shape == (10,)


@needs_card
def test_a_kernel_of_the_jiterator() -> None:
    function = torch.cuda.jiterator._create_jit_fn("template <typename T> T twice(T x, T y) { return x + y; }")
    assert function(torch.ones(10, device=DEVICE), torch.ones(10, device=DEVICE)).shape == (10,)


@needs_card
@since(2, 7)
def test_grouped_products() -> None:
    a, b = torch.ones(2, 32, 64, device=DEVICE, dtype=bf16), torch.ones(2, 64, 16, device=DEVICE, dtype=bf16)
    assert torch._grouped_mm(a, b).shape == (2, 32, 16)
