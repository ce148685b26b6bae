"""What a fork of the warm process does to become the job, and to end as Python itself would."""

from __future__ import annotations

import json
import os
import pkgutil
import sys
import tempfile
import types

from vramfit import layer
from vramfit.contract import asked
from vramfit.private import python as of_python

# Importing these ahead of a job has no effect of its own: no threads, no network, no output.
PRELOADED = frozenset({
    "accelerate", "datasets", "einops", "huggingface_hub", "lightning", "lightning_fabric", "lightning_utilities",
    "numpy", "packaging", "pandas", "peft", "PIL", "pytorch_lightning", "safetensors", "scipy", "sklearn", "sympy",
    "timm", "tokenizers", "torch", "torchmetrics", "torchvision", "tqdm", "transformers", "triton", "yaml",
})  # fmt: skip
MAX_PRELOADED = 4000


def first_on_path(request: asked.WarmRequest) -> str | None:
    """The folder that Python itself would put first on the path of such a job."""
    if sys.flags.isolated or getattr(sys.flags, "safe_path", False):
        return None
    cwd = os.path.realpath(request.cwd)
    if request.run_as == "module":
        return cwd
    return os.path.dirname(os.path.realpath(os.path.join(cwd, request.argv[0])))


def hidden_from(request: asked.WarmRequest) -> list[str]:
    """Modules that the job's own folder has, and that its fork would find imported from elsewhere."""
    if (folder := first_on_path(request)) is None:
        return []
    own = {module.name for module in pkgutil.iter_modules([folder])} - {"__main__"}
    return sorted(own & sys.modules.keys())


def origin(name: str) -> str | None:
    """The file of an imported package or module."""
    module = sys.modules[name]
    return getattr(getattr(module, "__spec__", None), "origin", None) or getattr(module, "__file__", None)


def enter_place(request: asked.WarmRequest, streams: list[int]) -> None:
    """The job's environment, folder and output, and the plan that its environment names."""
    os.environ.clear()
    os.environ.update(request.env)
    tempfile.tempdir = None  # it is of the environment, and was perhaps asked for already
    os.chdir(request.cwd)
    if streams:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
    else:
        _redirect(request.stdin_path or "/dev/null", os.O_RDONLY | os.O_NOCTTY, 0)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        _redirect(request.stdout_path or "/dev/null", flags, 1)
        _redirect(request.stderr_path or "/dev/null", flags, 2)
    layer.enter(request.layer)
    layer.die_with_parent()
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    from vramfit import install

    install.begin_job()


def _redirect(path: str, flags: int, number: int) -> None:
    opened = os.open(path, flags, 0o600)
    os.dup2(opened, number)
    os.close(opened)


def run(request: asked.WarmRequest) -> int:
    """Runs the job as Python would run it as its main program. Returns its exit code."""
    argv = request.argv
    if (folder := first_on_path(request)) is not None:
        sys.path[0] = folder
    try:
        if request.run_as == "module":
            import runpy

            sys.argv = argv
            runpy.run_module(argv[0], run_name="__main__", alter_sys=True)
        else:
            _run_script(argv)
    except SystemExit as ended:
        return exit_code(ended)
    except BaseException as error:  # noqa: B036
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        try:
            sys.excepthook(type(error), error.with_traceback(trace), trace)
        except SystemExit as ended:  # as Python itself would have it
            return exit_code(ended)
        return 1
    return 0


def _run_script(argv: list[str]) -> None:
    path = argv[0]
    sys.argv = argv
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)  # of the __future__ of this file
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__, __annotations__={})
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def exit_code(ended: SystemExit) -> int:
    if ended.code is None:
        return 0
    if isinstance(ended.code, int):
        return ended.code & 0xFF
    print(ended.code, file=sys.stderr)
    return 1


def leave(code: int, modules: int, refused: str, before: frozenset[str]) -> None:
    """Ends the fork as Python would, short of taking the interpreter apart. `before`: modules that it came with."""

    if refused:
        os.write(modules, json.dumps({"refused": refused}).encode())
        os._exit(code)
    from vramfit.observe import autograd_threads

    autograd_threads.need_not_finish()
    try:
        of_python.end_threads()
        of_python.run_exit_functions()
    except BaseException:  # noqa: B036
        pass
    try:
        new = [name for name in list(sys.modules) if name not in before]
        names = [name for name in new if name.partition(".")[0] in PRELOADED]
        origins = {name: origin(name) for name in new if "." not in name}
        os.write(modules, json.dumps({"modules": names[: 4 * MAX_PRELOADED], "origins": origins}).encode())
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: B036
        pass
    os._exit(code)
