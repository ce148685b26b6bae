"""Dense linear algebra through cuSOLVER, cuBLAS and MAGMA, and sparse matrices through cuSPARSE on the card."""

from __future__ import annotations

import pytest
import torch
from operator_check import DEVICE, make, needs_card, same_kind, since

pytestmark = needs_card
f32, f64, c64, c128 = torch.float32, torch.float64, torch.complex64, torch.complex128
L = torch.linalg

DENSE = {
    "cholesky": L.cholesky,
    "cholesky_ex": L.cholesky_ex,
    "inv": L.inv,
    "det": L.det,
    "slogdet": L.slogdet,
    "qr": L.qr,
    "qr r": lambda a: L.qr(a, mode="r")[1],
    "svd": L.svd,
    "svdvals": L.svdvals,
    "eigh": L.eigh,
    "eigvalsh": L.eigvalsh,
    "lu_factor": L.lu_factor,
    "lu": L.lu,
    "solve": lambda a: L.solve(a, a),
    "solve_triangular": lambda a: L.solve_triangular(a, a, upper=False),
    "matrix_exp": L.matrix_exp,
    "cholesky_solve": lambda a: torch.cholesky_solve(a, a),
    "cholesky_inverse": torch.cholesky_inverse,
    "ldl_factor": L.ldl_factor,
    "lstsq": lambda a: L.lstsq(a, a)[0],
    "householder_product": lambda a: L.householder_product(a, a[..., 0]),
    "ormqr": lambda a: torch.ormqr(a, a[..., 0], a),
    "matrix_power": lambda a: L.matrix_power(a, 3),
    "pinv hermitian": lambda a: L.pinv(a, hermitian=True),
    "lu_solve": lambda a: L.lu_solve(*L.lu_factor(a), a),
    "cross": lambda a: L.cross(a[..., :3, :], a[..., :3, :], dim=-2),
}


def well_conditioned(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> torch.Tensor:
    return torch.eye(shape[-1], dtype=dtype).expand(shape).contiguous().to(device)


@pytest.mark.parametrize("dtype", [f32, f64, c64, c128], ids=str)
@pytest.mark.parametrize("name", DENSE)
def test_dense(name, dtype) -> None:
    function = DENSE[name]
    expected = function(well_conditioned((8, 8), dtype, "cpu"))
    found = function(well_conditioned((8, 8), dtype, DEVICE))
    same_kind(found, expected)


@pytest.mark.parametrize(
    "name", ["cholesky", "inv", "det", "qr", "svd", "eigh", "solve", "lu_factor", "cholesky_solve"]
)
def test_dense_in_batches(name) -> None:
    function = DENSE[name]
    same_kind(function(well_conditioned((5, 8, 8), f32, DEVICE)), function(well_conditioned((5, 8, 8), f32, "cpu")))


@pytest.mark.parametrize("size", [64, 600])
@pytest.mark.parametrize("name", ["cholesky", "qr", "inv", "svd", "eigh"])
def test_dense_of_other_sizes(name, size) -> None:
    before = torch.cuda.memory_allocated()
    out = DENSE[name](well_conditioned((size, size), f32, DEVICE))
    first = out if isinstance(out, torch.Tensor) else out[0]
    assert first.shape[-1] == size or first.shape == (size,)
    del out, first
    assert torch.cuda.memory_allocated() == before


def test_eigenvalues_of_a_general_matrix() -> None:
    """PyTorch asks isfinite().all() of the device first, which kernels that do nothing leave open."""
    same_kind(L.eig(well_conditioned((6, 6), f32, DEVICE)), L.eig(well_conditioned((6, 6), f32, "cpu")))


@pytest.mark.parametrize("name", ["cholesky", "inv", "qr", "eigh", "svd", "det"])
def test_dense_backward(name) -> None:
    a = well_conditioned((8, 8), f32, DEVICE).requires_grad_()
    out = DENSE[name](a)
    (out if isinstance(out, torch.Tensor) else out[0]).sum().backward()
    assert a.grad is not None and a.grad.shape == (8, 8)


LAYOUTS = {
    "coo": lambda a: a.to_sparse(),
    "csr": lambda a: a.to_sparse_csr(),
    "csc": lambda a: a.to_sparse_csc(),
    "bsr": lambda a: a.to_sparse_bsr((2, 2)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
def test_sparse_times_dense(layout, dtype) -> None:
    sparse = LAYOUTS[layout](torch.eye(8, dtype=dtype)).to(DEVICE)
    dense = make((8, 8), dtype, DEVICE)
    product = sparse @ dense
    assert product.shape == (8, 8) and product.dtype == dtype


def test_sparse_products_of_pytorch_sparse() -> None:
    eye = torch.eye(4).to_sparse().to(DEVICE)
    assert torch.sparse.mm(eye, torch.ones(4, 4, device=DEVICE)).shape == (4, 4)
    assert torch.sparse.addmm(torch.ones(4, 4, device=DEVICE), eye, torch.ones(4, 4, device=DEVICE)).shape == (4, 4)
    assert (eye @ torch.ones(4, device=DEVICE)).shape == (4,)
    assert torch.sparse.sum(eye, 1).shape == (4,)
    assert eye.coalesce().values().shape[0] <= 4


def test_sparse_times_sparse() -> None:
    a = torch.eye(8).to_sparse_csr().to(DEVICE)
    product = a @ a
    assert product.shape == (8, 8) and product.values().shape[0] <= 64


def test_sparse_sums_of_compressed_rows() -> None:
    a = torch.eye(8).to_sparse_csr().to(DEVICE)
    assert torch.add(a, a).shape == (8, 8)


def test_sampled_products() -> None:
    pattern = torch.eye(8).to_sparse_csr().to(DEVICE)
    out = torch.sparse.sampled_addmm(pattern, torch.ones(8, 4, device=DEVICE), torch.ones(4, 8, device=DEVICE))
    assert out.shape == (8, 8)


def test_triangular_solves_of_sparse_matrices() -> None:
    a = torch.eye(8).to_sparse_csr().to(DEVICE)
    assert torch.triangular_solve(torch.ones(8, 2, device=DEVICE), a, upper=False)[0].shape == (8, 2)


def test_sparse_gradients() -> None:
    table = torch.nn.Embedding(100, 16, sparse=True, device=DEVICE)
    table(torch.tensor([1, 2, 2], device=DEVICE)).sum().backward()
    assert table.weight.grad is not None and table.weight.grad.is_sparse


@since(2, 2)
def test_semi_structured_sparsity() -> None:
    from torch.sparse import to_sparse_semi_structured

    weight = torch.tensor([0, 0, 1, 1], dtype=torch.float16).tile((128, 32)).to(DEVICE)
    sparse = to_sparse_semi_structured(weight)
    assert (sparse @ torch.ones(128, 64, dtype=torch.float16, device=DEVICE)).shape == (128, 64)
