"""%%vramfit in a real Jupyter kernel."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from product import ROOT, STAGE, Product

sys.path.insert(0, str(ROOT))
from tools.suite import python_environments

# A kernel without torch: the cell's own process is what needs it.
TORCH = Path(python_environments.python("torch-2.12"))


def run_cells(product: Product, *cells: str) -> list[list[dict[str, Any]]]:
    """The outputs of each cell."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    kept = dict(os.environ)
    os.environ.clear()
    os.environ.update(product.environment(PYTHONPATH=str(STAGE / "python"), JUPYTER_RUNTIME_DIR=str(product.folder)))
    try:
        NotebookClient(
            notebook,
            timeout=300,
            kernel_name="python3",
            allow_errors=True,
            resources={"metadata": {"path": str(product.folder)}},
        ).execute()
    finally:
        os.environ.clear()
        os.environ.update(kept)
    return [cell["outputs"] for cell in notebook.cells]


def text_of(outputs: list[dict[str, Any]]) -> str:
    return "".join(out.get("text", "") + str(out.get("data", {}).get("text/html", "")) for out in outputs)


def test_a_cell_runs_on_a_virtual_card_with_the_cells_it_names(product: Product) -> None:
    outputs = run_cells(
        product,
        "%load_ext vramfit",
        f"import sys; sys.executable = {str(TORCH)!r}  # the Python that the cell's process gets",
        "import_me = 64  # MiB of floats",
        "raise_me = 1",
        '%%vramfit --gpu rtx3060 --cells 3\nimport torch\nx = torch.ones(import_me << 18, device="cuda")',
        "'x' in globals()",
    )
    shown = text_of(outputs[4])
    assert "fits NVIDIA GeForce RTX 3060" in shown
    assert "<td>64 MiB</td>" in shown
    assert "<svg" in shown
    assert "False" in str(outputs[5]), "nothing comes back into the notebook"
    assert "cell.py" in product.call("runs").stdout, "it is in the history"


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("%%vramfit\n1", "no torch with a card"),
        ("%%vramfit --gpu rtx3060 --cells 9\n1", "--cells"),
        ("%%vramfit --gpu rtx3060 --cells x\n1", "not cells"),
        ("%%vramfit --wrong\n1", "unrecognized"),
        ("%%vramfit --gpu rtx3060\n!ls", "outside the notebook"),
        ("%%vramfit --gpu no-such-card\n1", "no-such-card"),
    ],
)
def test_what_cannot_be_run_is_said_without_a_traceback(product: Product, cell: str, says: str) -> None:
    outputs = run_cells(product, "%load_ext vramfit", cell)
    (error,) = [out for out in outputs[1] if out["output_type"] == "error"]
    assert says in error["evalue"]
    assert "jupyter.py" not in "".join(error["traceback"])


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("raise RuntimeError('no data')", "failed"),
        ("import torch\ntorch.zeros(9 << 30, device='cuda')", "out of memory"),
    ],
)
def test_a_run_that_fails_ends_run_all(product: Product, cell: str, says: str) -> None:
    python = f"import sys; sys.executable = {str(TORCH)!r}"
    outputs = run_cells(product, "%load_ext vramfit", python, f"%%vramfit --gpu rtx3060\n{cell}", "1 + 1")
    (error,) = [out for out in outputs[2] if out["output_type"] == "error"]
    assert error["ename"] == "RunFailed"
    assert says in error["evalue"]
    assert any(out["output_type"] == "display_data" for out in outputs[2]), "what the run told stands there"


def test_on_a_card_the_cell_runs_in_the_notebook_and_is_measured(product: Product) -> None:
    """The card is a stand-in for torch.cuda here: what is tested is which of its figures are asked for and shown."""
    fake = """
import sys, types
class Cuda:
    most = 0
    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 1)
    synchronize = staticmethod(lambda card: None)
    get_device_name = staticmethod(lambda card: "Test <Card>")
    memory_allocated = staticmethod(lambda card: 5 << 20)
    max_memory_allocated = staticmethod(lambda card: Cuda.most)
    max_memory_reserved = staticmethod(lambda card: 2 * Cuda.most)
    @staticmethod
    def reset_peak_memory_stats(card): Cuda.most = 0
torch = types.ModuleType("torch"); torch.cuda = Cuda; sys.modules["torch"] = torch
"""
    outputs = run_cells(product, "%load_ext vramfit", fake, "%%vramfit\nCuda.most = 300 << 20\nkept = 1", "kept + 41")
    shown = text_of(outputs[2])
    assert "<td>0, Test &lt;Card&gt;</td><td>5 MiB</td><td>300 MiB</td><td>600 MiB</td>" in shown
    assert "42" in str(outputs[3])
