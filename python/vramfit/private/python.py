"""Private names of Python's own libraries."""

from __future__ import annotations

from vramfit.private.names import Attribute, Name, nothing

LIBRARY = "Python"
READY: tuple[str, ...] = ()

is_initializing = Attribute(
    "importlib._bootstrap:_load_unlocked._initializing", "a module that is half imported is taken for one that is there"
)
bootstrap_thread = Name("threading:Thread._bootstrap_inner", "values are followed in the main thread only", nothing)
end_threads = Name("threading:_shutdown", "threads of a job are not waited for at its end", nothing)
run_exit_functions = Name("atexit:_run_exitfuncs", "what a job left to do at its exit is not done", nothing)
bootstrap_process = Name(
    "multiprocessing.process:BaseProcess._bootstrap",
    "how a process that the script started ended is not told",
    nothing,
    later=True,
)
process_target = Attribute(
    "multiprocessing.process:BaseProcess._target", "ranks that PyTorch spawned are taken for servers", later=True
)
