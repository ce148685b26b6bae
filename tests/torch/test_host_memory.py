"""What a virtual run takes of the host: a model far larger than the machine's memory has to run."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from card_run import SCRIPTS, finished, run_on_card

WEIGHTS = 2 * 6_738_415_616  # bf16, of Llama-7B's parameters


@pytest.mark.skipif(importlib.util.find_spec("transformers") is None, reason="this environment has no transformers")
def test_llama_7b_takes_less_than_2_gb_of_the_host() -> None:
    run = finished(run_on_card(sys.executable, str(SCRIPTS / "llama_7b.py"), gpu="a100-80gb"))
    assert run.result["verdict"] == "fits", run.tail()
    assert run.result["devices"][0]["peak_allocated_bytes"] > WEIGHTS
    assert run.result["host_peak_bytes"] < 2e9, run.tail()
