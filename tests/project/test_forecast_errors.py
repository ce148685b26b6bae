"""The intervals of forecasts are as wide as the kept cases of bench/forecast say."""

import re
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def load_errors():
    loader = SourceFileLoader("errors", str(ROOT / "bench" / "forecast" / "errors"))
    module = module_from_spec(spec_from_loader("errors", loader))
    loader.exec_module(module)
    return module


def test_the_planner_has_what_the_bench_prints():
    errors = load_errors()
    table = (ROOT / "src" / "plan" / "forecast_error.cc").read_text()
    kept = {name: float(share) for name, share in re.findall(r'\{MadeBy::k\w+, "(\w+)", ([\d.]+)\}', table)}
    assert kept == errors.shares(errors.read_cases())


def test_techniques_with_runs_of_their_own_are_known_to_the_bench():
    techniques = (ROOT / "src" / "plan" / "techniques").glob("*.cc")
    measured = {
        path.stem
        for path in techniques
        if not path.stem.endswith("_test") and re.search(r"> find_(all_)?measurable\(", path.read_text())
    }
    assert measured == set(load_errors().WITH_RUNS)


def test_an_interval_holds_the_share_of_cases_that_it_says():
    errors = load_errors()
    assert errors.share_of([0.0] * 95 + [0.042] * 5) == 0.05  # 96 of 101 take in one of the five
    assert errors.share_of([0.0] * 100 + [0.042]) == 0.01
    assert errors.share_of([0.031]) == 0.04
