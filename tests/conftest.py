from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import warm_python
from product import Product
from time_box import TimeBox


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--time-box", type=float, metavar="SECONDS", help="as many tests as fit in that time")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.time_box is not None:
        config.pluginmanager.register(TimeBox(config.option.time_box))


@pytest.fixture(scope="session")
def shared_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[warm_python.SharedPython]:
    process = warm_python.SharedPython(tmp_path_factory.mktemp("warm"))
    yield process
    process.close()


@pytest.fixture
def product(request: pytest.FixtureRequest, tmp_path: Path) -> Product:
    """The product; the runs of a test marked `warm` are forks of a Python that has imported torch."""
    marks = [mark.name for mark in request.node.iter_markers() if mark.name in ("warm", "cold")]
    warm = request.getfixturevalue("shared_python").path if warm_python.is_wanted(marks) else ""
    return Product(tmp_path, warm)
