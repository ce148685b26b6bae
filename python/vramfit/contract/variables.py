"""The environment variables that vramfit's own parts read, by when they are read.

`tools/check_environment` (a section of `./test`) holds these lists against the sources and docs/architecture.md: a
variable stands in one of them. One that stands in neither would have a job start cold beside a warm process.
"""

from __future__ import annotations

# Read by the job itself, once it runs: what is forked off a warm process has its own.
OF_A_JOB = frozenset({
    "VRAMFIT_CUDNN_CACHE", "VRAMFIT_CUDNN_LEARNED", "VRAMFIT_CUDNN_LIBRARY", "VRAMFIT_CUDNN_MARK",
    "VRAMFIT_COVERAGE", "VRAMFIT_DIAGNOSE", "VRAMFIT_EVALUATION", "VRAMFIT_LAYER", "VRAMFIT_LEDGER", "VRAMFIT_MODULES",
    "VRAMFIT_NETWORK", "VRAMFIT_OBSTACLES", "VRAMFIT_ON_OOM_DIR", "VRAMFIT_PATCH", "VRAMFIT_PLAN", "VRAMFIT_PRINTED",
    "VRAMFIT_RANK_WAIT", "VRAMFIT_RECORD_LIMIT", "VRAMFIT_RESTART", "VRAMFIT_RUN_DIR", "VRAMFIT_RUN_ON",
    "VRAMFIT_SNAPSHOTS", "VRAMFIT_STEPS", "VRAMFIT_VALUES", "VRAMFIT_VERIFY",
})  # fmt: skip

# Read by the command line alone: they say nothing to a job.
OF_THE_COMMAND_LINE = frozenset({
    "VRAMFIT_ALERT", "VRAMFIT_ALERT_CARD", "VRAMFIT_ALERT_NAME", "VRAMFIT_ALERT_TEXT", "VRAMFIT_ALERT_VALUE",
    "VRAMFIT_CACHE", "VRAMFIT_GPU", "VRAMFIT_HOME", "VRAMFIT_KEEP_RUNS", "VRAMFIT_LAYER_KIND", "VRAMFIT_LAYER_LIMIT",
    "VRAMFIT_STORE", "VRAMFIT_WARM", "VRAMFIT_WITHIN",
})  # fmt: skip

# Read as a process or a library starts, or once for a whole process: a warm process has to have started with the same.
OF_A_START = frozenset({
    "VRAMFIT_HOOKS", "VRAMFIT_LIBRARIES", "VRAMFIT_NVML_SCRIPT", "VRAMFIT_ON_OOM", "VRAMFIT_OUTPUT_1",
    "VRAMFIT_OUTPUT_2", "VRAMFIT_OUTSIDE", "VRAMFIT_PRELOAD", "VRAMFIT_REAL",
})  # fmt: skip

# A fork of a warm process may have others of these than the process itself.
MAY_DIFFER = OF_A_JOB | OF_THE_COMMAND_LINE
