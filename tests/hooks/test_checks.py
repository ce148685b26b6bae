"""Operators that check values within themselves, where kernels that do nothing leave no answer."""

from __future__ import annotations

import pytest
from hooked_job import Job

pytestmark = pytest.mark.by_release

GIB = 1 << 30


@pytest.mark.parametrize("values", ["zeros", "tracked", "cpu"])
def test_eigenvalues_of_what_is_finite_are_not_refused(job: Job, values: str) -> None:
    finished = job.run(
        """
        import json, torch
        matrix = torch.eye(8, device="cuda") * 3
        torch.cuda.reset_peak_memory_stats()
        found, vectors = torch.linalg.eig(matrix)
        peak = torch.cuda.max_memory_allocated()
        refused = []
        for wrong in (torch.ones(2, 3, device="cuda"), torch.ones(3, device="cuda")):
            try:
                torch.linalg.eig(wrong)
            except RuntimeError as error:
                refused.append("linalg.eig" in str(error))
        print(json.dumps([list(found.shape), list(vectors.shape), str(vectors.dtype), refused, peak > 1000]))
        """,
        card=2 * GIB,
        VRAMFIT_VALUES=values,
    )
    assert finished.output() == [[8], [8, 8], "torch.complex64", [True, True], True]


def test_what_passed_is_not_asked_again(job: Job) -> None:
    finished = job.run(
        """
        import json, torch
        matrix = torch.eye(8, device="cuda")
        counts = []
        for _ in range(3):
            before = torch.cuda.memory_stats()["allocation.all.allocated"]
            torch.linalg.eig(matrix)
            counts.append(torch.cuda.memory_stats()["allocation.all.allocated"] - before)
        print(json.dumps([counts[0] > counts[1], counts[1] == counts[2]]))
        """,
        card=2 * GIB,
    )
    assert finished.output() == [True, True]


@pytest.mark.parametrize("values", ["tracked", "cpu"])
def test_values_that_are_known_are_refused_as_a_card_would(job: Job, values: str) -> None:
    finished = job.run(
        """
        import json, torch
        try:
            torch.linalg.eig(torch.full((4, 4), float("nan")).cuda())
        except RuntimeError as error:
            print(json.dumps("infs or NaNs" in str(error)))
        """,
        card=2 * GIB,
        VRAMFIT_VALUES=values,
    )
    assert finished.output() is True
