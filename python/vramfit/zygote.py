"""A warm process: torch is imported once, and every job runs in a fork of it.

    python -c "from vramfit import zygote; zygote.main()" FD

reads requests from the socket FD, one JSON object a line, and answers each when its job has ended, in the order of
ending:

    {"id", "argv", "cwd", "env", "stdin_path", "stdout_path", "stderr_path", "run_as": "script" | "module",
     "timeout": seconds | null,
     "patience": seconds | null, as "timeout", but what the job waits for a processor does not count,
     "grace": seconds from SIGTERM to SIGKILL at the time limit, "layer": {"library", "spec"} | null}
    {"id", "exit_code" or "signal", "timed_out", "wall_seconds", "waited_seconds": of these for a processor,
     "cpu_seconds", "maxrss": KiB}, and "refused" where the job could not enter its layer and did not run

    python -c "from vramfit import zygote; zygote.main()" listen FD

is one that several vramfits share, as those of a run of tests do: FD listens, each connection brings requests, and a
job whose connection closes is killed. It ends when its own stdin does. With a request come the job's stdin, stdout and
stderr, and {"shared": {"python", "flags"}}: a job that another start would serve otherwise is answered with
{"id", "unsuitable": why} and does not run here.

`env` is the job's whole environment. Jobs may overlap. The parent never touches CUDA: a fork could not use it then, and
the ledger of a job is only known in its fork. Modules of well-known libraries that a job imported are imported here
too, while nothing runs, so that the next job finds them. It ends when its socket does. It is outside of every layer and
writes nothing, bytecode neither; each fork enters the layer of its job.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
import time
import types
from dataclasses import dataclass, field
from typing import Any

from vramfit import layer
from vramfit.private import python as of_python
from vramfit.private import torch as of_torch

# Importing these ahead of a job has no effect of its own: no threads, no network, no output.
_PRELOADED = {
    "accelerate", "datasets", "einops", "huggingface_hub", "lightning", "lightning_fabric", "lightning_utilities",
    "numpy", "packaging", "pandas", "peft", "PIL", "pytorch_lightning", "safetensors", "scipy", "sklearn", "sympy",
    "timm", "tokenizers", "torch", "torchmetrics", "torchvision", "tqdm", "transformers", "triton", "yaml",
}  # fmt: skip
# A shared one serves jobs that have nothing in common: only what changes nothing for those that do not import it.
_PRELOADED_SHARED = {"numpy", "PIL", "torchvision"}
_MAX_PRELOADED = 4000
_POLL_SECONDS = 0.02
_LOOK_SECONDS = 0.25  # between two looks at how long a job has waited for a processor
_MOST_WAITED = 0.8  # of the wall's seconds: a job whose threads all wait is not patient for ever

# Variables that the hooks and libraries read in the job itself, so that they may be others than the warm process has.
_OF_A_JOB = {
    "OLDPWD", "PWD", "PYTEST_CURRENT_TEST", "TMPDIR", "VRAMFIT_COVERAGE", "VRAMFIT_DIAGNOSE", "VRAMFIT_EVALUATION",
    "VRAMFIT_HOME", "VRAMFIT_LAYER", "VRAMFIT_LEDGER", "VRAMFIT_MODULES", "VRAMFIT_OBSTACLES", "VRAMFIT_PLAN",
    "VRAMFIT_PRINTED", "VRAMFIT_RESTART", "VRAMFIT_RUN_DIR", "VRAMFIT_RUN_ON", "VRAMFIT_SNAPSHOTS", "VRAMFIT_STEPS",
    "VRAMFIT_STORE", "VRAMFIT_VALUES", "VRAMFIT_VERIFY", "VRAMFIT_WARM", "VRAMFIT_WITHIN", "_",
}  # fmt: skip


@dataclass(eq=False)
class Connection:
    """Where requests come from."""

    socket: socket.socket
    received: bytes = b""
    files: list[int] = field(default_factory=list)  # that came with the request which is being received


@dataclass
class Job:
    """One running fork."""

    connection: Connection
    id: Any
    pid: int
    started: float
    timeout: float | None
    grace: float  # seconds from a polite signal at the time limit to the end; 0: it is ended at once
    modules: int  # a memory file in which it leaves the names of the modules it imported, or why it did not run
    patience: float | None = None
    waited: float = 0.0  # for a processor
    looked: float = 0.0
    timed_out: bool = False
    ended_at: float = 0.0  # when it was told to end
    answer: dict[str, Any] = field(default_factory=dict)

    def is_over(self, seconds: float) -> bool:
        """Its time is up."""
        if self.timeout is not None and seconds > self.timeout:
            return True
        return self.patience is not None and seconds - self.waited > self.patience

    def look(self, seconds: float) -> None:
        """How long it has waited, from time to time."""
        if seconds - self.looked >= _LOOK_SECONDS:
            self.looked = seconds
            self.waited = max(self.waited, min(_waited_by(self.pid), _MOST_WAITED * seconds))


class Zygote:
    def __init__(self, only: socket.socket | None = None, listener: socket.socket | None = None) -> None:
        """With the one connection there will ever be, or a socket that listens for others."""
        self._connections = [Connection(only)] if only else []
        self._listener = listener
        self._environment = dict(os.environ)
        self._jobs: list[Job] = []
        self._wanted: list[str] = []  # modules to import while idle
        self._real_count: Any = None

    def warm_up(self) -> None:
        from vramfit import install

        sys.dont_write_bytecode = True

        install.prepare(always=True)
        import torch.utils.data  # noqa: F401 - torch itself is what it is about

        # Libraries that ask for devices while they are imported would make the CUDA runtime answer once and for all.
        self._real_count = of_torch.count_devices.get()
        of_torch.count_devices.replace(lambda: 1)
        gc.collect()
        gc.freeze()

    def serve(self) -> None:
        """Until the socket closes, or stdin of one that listens; jobs that still run are then killed."""
        with selectors.DefaultSelector() as selector:
            for connection in self._connections:
                selector.register(connection.socket, selectors.EVENT_READ, connection)
            if self._listener:
                selector.register(self._listener, selectors.EVENT_READ)
                selector.register(0, selectors.EVENT_READ)
            while self._take(selector):
                self._collect()
                if not self._jobs:
                    self._preload_some()
        for job in self._jobs:
            _kill(job.pid)

    def _take(self, selector: selectors.BaseSelector) -> bool:
        """What comes now. False: nothing will come any more."""
        wait = _POLL_SECONDS if self._jobs else 0.0 if self._wanted else None
        for key, _ in selector.select(wait):
            if key.fileobj == 0:
                return False
            if key.fileobj is self._listener:
                self._accept(selector)
            elif not self._receive(key.data):
                selector.unregister(key.fileobj)
                self._forget(key.data)
        return bool(self._connections or self._listener)

    def _accept(self, selector: selectors.BaseSelector) -> None:
        assert self._listener
        connection = Connection(self._listener.accept()[0])
        self._connections.append(connection)
        selector.register(connection.socket, selectors.EVENT_READ, connection)

    def _forget(self, connection: Connection) -> None:
        """Nobody waits for its jobs any more."""
        for job in self._jobs:
            if job.connection is connection:
                _kill(job.pid)
        connection.socket.close()
        self._connections.remove(connection)

    def _receive(self, connection: Connection) -> bool:
        try:
            data, files, _, _ = socket.recv_fds(connection.socket, 1 << 16, 3)
        except ConnectionResetError:
            return False
        connection.received += data
        connection.files += files
        while b"\n" in connection.received:
            line, _, connection.received = connection.received.partition(b"\n")
            if line.strip():
                self._start(connection, json.loads(line))
            for number in connection.files:
                os.close(number)
            connection.files = []
        return bool(data)

    def _start(self, connection: Connection, request: dict[str, Any]) -> None:
        if unsuitable := self._why_not(request, connection.files):
            self._send(connection, {"id": request.get("id"), "unsuitable": unsuitable})
            return
        modules = os.memfd_create("vramfit-modules")
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            self._become(request, connection.files, modules)
        try:
            os.setpgid(pid, pid)
        except OSError:  # the child has done it, or is gone
            pass
        limits = request.get("timeout"), request.get("grace", 0.0)
        job = Job(connection, request.get("id"), pid, time.monotonic(), *limits, modules)
        job.patience = request.get("patience")
        self._jobs.append(job)

    def _why_not(self, request: dict[str, Any], files: list[int]) -> str:
        """Why a job would go another way in a process of its own; empty: it would not."""
        if not (shared := request.get("shared")):
            return ""
        if shared["python"] != sys.executable or shared["flags"]:
            return f"{shared['python']} {' '.join(shared['flags'])} is another interpreter"
        if any(os.isatty(number) for number in files):
            return "it has a terminal"
        asked = request["env"]
        names = sorted(
            name
            for name in asked.keys() | self._environment.keys()
            if name not in _OF_A_JOB and asked.get(name) != self._environment.get(name)
        )
        return f"its environment differs: {', '.join(names)}" if names else ""

    def _become(self, request: dict[str, Any], streams: list[int], modules: int) -> None:
        """In the fork: turns into the job, and never returns."""
        code = 1
        refused = ""
        try:
            os.setpgid(0, 0)
            for connection in self._connections:
                connection.socket.close()
            if self._listener:
                self._listener.close()
            of_torch.count_devices.replace(self._real_count)
            _enter_place(request, streams)
            code = _run(request)
        except layer.Refused as problem:
            refused = str(problem) or "the job could not enter its layer"
        except SystemExit as ended:  # a plan that can't be applied ends the job before its first line
            code = _exit_code(ended)
        except BaseException:  # noqa: B036 - nothing may reach the parent's loop
            sys.excepthook(*sys.exc_info())
        finally:
            _leave(code, modules, refused)

    def _collect(self) -> None:
        for job in list(self._jobs):
            pid, status, usage = os.wait4(job.pid, os.WNOHANG)
            seconds = time.monotonic() - job.started
            if pid == 0:
                job.look(seconds)
                if job.is_over(seconds) and not job.timed_out:
                    job.timed_out = True
                    job.ended_at = seconds
                    _kill(job.pid, signal.SIGTERM if job.grace else signal.SIGKILL)
                elif job.timed_out and seconds > job.ended_at + job.grace:
                    _kill(job.pid)
                continue
            _kill(job.pid)  # what it left in its group: workers of a job that was killed
            self._jobs.remove(job)
            if job.connection not in self._connections:
                os.close(job.modules)
                continue
            answer: dict[str, Any] = {"id": job.id, "timed_out": job.timed_out, "wall_seconds": seconds}
            answer["waited_seconds"] = job.waited
            answer["cpu_seconds"] = usage.ru_utime + usage.ru_stime
            answer["maxrss"] = usage.ru_maxrss
            if os.WIFSIGNALED(status):
                answer["signal"] = os.WTERMSIG(status)
            else:
                answer["exit_code"] = os.WEXITSTATUS(status)
            left = _read_left(job.modules)
            if left.get("refused"):
                answer["refused"] = left["refused"]
            allowed = _PRELOADED_SHARED if self._listener else _PRELOADED
            new = (name for name in left.get("modules", ()) if name not in sys.modules)
            self._wanted = [name for name in new if name.partition(".")[0] in allowed][:_MAX_PRELOADED]
            self._send(job.connection, answer)

    def _send(self, connection: Connection, answer: dict[str, Any]) -> None:
        try:
            connection.socket.sendall(json.dumps(answer).encode() + b"\n")
        except OSError:  # nobody listens any more; the loop ends at its next read
            pass

    def _preload_some(self) -> None:
        """A few modules at a time, so that a request never waits long."""
        deadline = time.monotonic() + 0.1
        while self._wanted and time.monotonic() < deadline:
            name = self._wanted.pop(0)
            if name in sys.modules:
                continue
            try:
                importlib.import_module(name)
            except BaseException:  # noqa: B036 - it worked in the job, whatever keeps it from working here
                pass
        if not self._wanted:
            gc.collect()
            gc.freeze()


def _read_left(memory_file: int) -> dict[str, Any]:
    """What a job left when it ended; nothing of one that was killed."""
    with os.fdopen(memory_file, "rb") as file:
        file.seek(0)
        try:
            left = json.loads(file.read() or b"{}")
        except ValueError:
            return {}
    return left if isinstance(left, dict) else {}


def _waited_by(pid: int) -> float:
    """Seconds for which the threads of a process were ready to run, and others had the processors."""
    nanoseconds = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                nanoseconds += int(file.read().split()[1])
    except (OSError, IndexError, ValueError):  # it has ended, or the kernel does not count that
        pass
    return nanoseconds / 1e9


def _kill(group: int, how: int = signal.SIGKILL) -> None:
    for kill, target in ((os.killpg, group), (os.kill, group)):
        try:
            kill(target, how)
        except OSError:
            pass


def _enter_place(request: dict[str, Any], streams: list[int]) -> None:
    """The job's environment, folder and output, and the plan that its environment names."""
    os.environ.clear()
    os.environ.update(request.get("env") or {})
    tempfile.tempdir = None  # it is of the environment, and was perhaps asked for already
    os.chdir(request["cwd"])
    if streams:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
    else:
        _redirect(request.get("stdin_path") or "/dev/null", os.O_RDONLY | os.O_NOCTTY, 0)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        _redirect(request.get("stdout_path") or "/dev/null", flags, 1)
        _redirect(request.get("stderr_path") or "/dev/null", flags, 2)
    layer.enter(request.get("layer"))
    layer.die_with_parent()
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    from vramfit import install

    install.begin_job()


def _redirect(path: str, flags: int, number: int) -> None:
    opened = os.open(path, flags, 0o600)
    os.dup2(opened, number)
    os.close(opened)


def _run(request: dict[str, Any]) -> int:
    """Runs the job as Python would run it as its main program. Returns its exit code."""
    argv = [str(word) for word in request["argv"]]
    try:
        if request.get("run_as") == "module":
            import runpy

            sys.argv = argv
            sys.path[0] = os.getcwd()
            runpy.run_module(argv[0], run_name="__main__", alter_sys=True)
        else:
            _run_script(argv)
    except SystemExit as ended:
        return _exit_code(ended)
    except BaseException as error:  # noqa: B036
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        try:
            sys.excepthook(type(error), error.with_traceback(trace), trace)
        except SystemExit as ended:  # as Python itself would have it
            return _exit_code(ended)
        return 1
    return 0


def _run_script(argv: list[str]) -> None:
    path = argv[0]
    sys.argv = argv
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)  # of the __future__ of this file
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=__builtins__, __annotations__={})
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def _exit_code(ended: SystemExit) -> int:
    if ended.code is None:
        return 0
    if isinstance(ended.code, int):
        return ended.code & 0xFF
    print(ended.code, file=sys.stderr)
    return 1


def _leave(code: int, modules: int, refused: str) -> None:
    """Ends the fork as Python would, short of taking the interpreter apart."""

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
        names = [name for name in list(sys.modules) if name.partition(".")[0] in _PRELOADED]
        os.write(modules, json.dumps({"modules": names[: 4 * _MAX_PRELOADED]}).encode())
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: B036
        pass
    os._exit(code)


def main() -> None:
    with_others = sys.argv[1] == "listen"
    end = socket.socket(fileno=int(sys.argv[-1]))
    os.set_inheritable(end.fileno(), False)
    zygote = Zygote(listener=end) if with_others else Zygote(end)
    zygote.warm_up()
    zygote.serve()


if __name__ == "__main__":
    main()
