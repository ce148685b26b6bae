from __future__ import annotations

from job_fixtures import job, warm_python

__all__ = ["job", "warm_python"]
