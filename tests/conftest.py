from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))
import warm_python
from product import ROOT, Product

sys.path.insert(0, str(ROOT / "tools"))
from suite.section import ALLOWED_SKIPS
from time_box import TimeBox


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--time-box", type=float, metavar="SECONDS", help="as many tests as fit in that time")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.time_box is not None:
        config.pluginmanager.register(TimeBox(config.option.time_box))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A skip for any other reason than those of ALLOWED_SKIPS fails here too, and not only under ./test."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and isinstance(report.longrepr, tuple):
        why = report.longrepr[2].removeprefix("Skipped: ")
        if not why.startswith(ALLOWED_SKIPS):
            report.outcome = "failed"
            report.longrepr = f"skipped, for a reason that ALLOWED_SKIPS (tools/suite/section.py) does not have: {why}"
    return report


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
