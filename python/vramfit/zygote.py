"""A warm process: torch is imported once, and every job runs in a fork of it.

    python -c "from vramfit import zygote; zygote.main()" FD

reads requests (`asked.WarmRequest`) from the socket FD, one JSON object a line, and answers each (`told.WarmAnswer`)
when its job has ended, in the order of ending.

    python -c "from vramfit import zygote; zygote.main()" listen FD

is one that several vramfits share, as those of a run of tests do: FD listens, each connection brings requests, and a
job whose connection closes is killed. It ends when its own stdin does. With a request come the job's stdin, stdout and
stderr, and which Python it has to be.

A job that would go another way in a process of its own does not run here: it is "unsuitable".

Jobs may overlap. The parent never touches CUDA: a fork could not use it then, and
the ledger of a job is only known in its fork. Modules of well-known libraries that a job imported are imported here
too, while nothing runs, so that the next job finds them: where every name that the job imported means the same file
here, which never has the job's own folder on its path. A job whose folder has a module of a name that is imported here
is unsuitable. It ends when its socket does. It is outside of every layer and writes nothing, bytecode neither; each
fork enters the layer of its job.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import selectors
import signal
import socket
import sys
import time
from typing import Any

from vramfit import layer, zygote_fork
from vramfit.contract import asked, told, variables
from vramfit.contract.fields import plain, read
from vramfit.private import torch as of_torch
from vramfit.zygote_fork import MAX_PRELOADED, PRELOADED
from vramfit.zygote_jobs import Connection, Job, kill_group, read_left, signal_group

# A shared one serves jobs that have nothing in common: only what changes nothing for those that do not import it.
_PRELOADED_SHARED = frozenset({"numpy", "PIL", "torchvision"})
_POLL_SECONDS = 0.02

# Variables that may be others than the warm process has: our own by the contract, and those that no hook or library
# asks for while it starts.
_MAY_DIFFER = variables.MAY_DIFFER | {"OLDPWD", "PWD", "PYTEST_CURRENT_TEST", "TMPDIR", "_"}


class Zygote:
    def __init__(self, only: socket.socket | None = None, listener: socket.socket | None = None) -> None:
        """Takes the one connection there will ever be, or a socket that listens for others."""
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
        signal.signal(signal.SIGTSTP, lambda *_: self._stop())
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
            kill_group(job.pid)

    def _take(self, selector: selectors.BaseSelector) -> bool:
        """Takes what comes now. False: nothing will come any more."""
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
                kill_group(job.pid)
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
                self._start(connection, read(asked.WarmRequest, json.loads(line)))
            for number in connection.files:
                os.close(number)
            connection.files = []
        return bool(data)

    def _start(self, connection: Connection, request: asked.WarmRequest) -> None:
        if unsuitable := self._why_not(request, connection.files):
            self._send(connection, told.WarmAnswer(id=request.id, unsuitable=unsuitable))
            return
        modules = os.memfd_create("vramfit-modules")
        before = frozenset(sys.modules)
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            self._become(request, connection.files, modules, before)
        try:
            os.setpgid(pid, pid)
        except OSError:  # the child has done it, or is gone
            pass
        limits = request.timeout, request.grace
        job = Job(connection, request.id, pid, time.monotonic(), *limits, modules)
        job.patience = request.patience
        self._jobs.append(job)

    def _stop(self) -> None:
        """Ctrl-Z, which vramfit passes on: the jobs stop too, and the time until all go on is not theirs."""
        for job in self._jobs:
            signal_group(job.pid, signal.SIGTSTP)
        began = time.monotonic()
        os.kill(os.getpid(), signal.SIGSTOP)
        for job in self._jobs:
            job.started += time.monotonic() - began
            signal_group(job.pid, signal.SIGCONT)

    def _why_not(self, request: asked.WarmRequest, files: list[int]) -> str:
        """Why a job would go another way in a process of its own; empty: it would not."""
        if hidden := zygote_fork.hidden_from(request):
            return f"its folder has a module of its own named {', '.join(hidden)}"
        if not (shared := request.shared):
            return ""
        if shared.python != sys.executable or shared.flags:
            return f"{shared.python} {' '.join(shared.flags)} is another interpreter"
        if any(os.isatty(number) for number in files):
            return "it has a terminal"
        own = request.env
        names = sorted(
            name
            for name in own.keys() | self._environment.keys()
            if name not in _MAY_DIFFER and own.get(name) != self._environment.get(name)
        )
        return f"its environment differs: {', '.join(names)}" if names else ""

    def _become(self, request: asked.WarmRequest, streams: list[int], modules: int, before: frozenset[str]) -> None:
        """Turns into the job, in the fork, and never returns."""
        code = 1
        refused = ""
        try:
            os.setpgid(0, 0)
            signal.signal(signal.SIGTSTP, signal.SIG_DFL)
            for connection in self._connections:
                connection.socket.close()
            if self._listener:
                self._listener.close()
            of_torch.count_devices.replace(self._real_count)
            zygote_fork.enter_place(request, streams)
            code = zygote_fork.run(request)
        except layer.Refused as problem:
            refused = str(problem) or "the job could not enter its layer"
        except SystemExit as ended:  # a plan that can't be applied ends the job before its first line
            code = zygote_fork.exit_code(ended)
        except BaseException:  # noqa: B036 - nothing may reach the parent's loop
            sys.excepthook(*sys.exc_info())
        finally:
            zygote_fork.leave(code, modules, refused, before)

    def _collect(self) -> None:
        for job in list(self._jobs):
            pid, status, usage = os.wait4(job.pid, os.WNOHANG)
            seconds = time.monotonic() - job.started
            if pid == 0:
                job.look(seconds)
                if job.is_over(seconds) and not job.timed_out:
                    job.timed_out = True
                    job.ended_at = seconds
                    kill_group(job.pid, signal.SIGTERM if job.grace else signal.SIGKILL)
                elif job.timed_out and seconds > job.ended_at + job.grace:
                    kill_group(job.pid)
                continue
            kill_group(job.pid)  # what it left in its group: workers of a job that was killed
            self._jobs.remove(job)
            if job.connection not in self._connections:
                os.close(job.modules)
                continue
            answer = told.WarmAnswer(
                id=job.id,
                timed_out=job.timed_out,
                wall_seconds=seconds,
                waited_seconds=job.waited,
                cpu_seconds=usage.ru_utime + usage.ru_stime,
                maxrss=usage.ru_maxrss,
            )
            if os.WIFSIGNALED(status):
                answer.signal = os.WTERMSIG(status)
            else:
                answer.exit_code = os.WEXITSTATUS(status)
            left = read_left(job.modules)
            if left.get("refused"):
                answer.refused = left["refused"]
            self._wanted = self._to_import(left)
            self._send(job.connection, answer)

    def _to_import(self, left: dict[str, Any]) -> list[str]:
        """The modules to import, of those that a job did. None where one of its names means another file here: what
        imports it would too."""
        if any(_found_here(name) not in (None, origin) for name, origin in left.get("origins", {}).items()):
            return []
        allowed = _PRELOADED_SHARED if self._listener else PRELOADED
        new = (name for name in left.get("modules", ()) if name not in sys.modules)
        return [name for name in new if name.partition(".")[0] in allowed][:MAX_PRELOADED]

    def _send(self, connection: Connection, answer: told.WarmAnswer) -> None:
        try:
            connection.socket.sendall(json.dumps(answer, default=plain).encode() + b"\n")
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


def _found_here(name: str) -> str | None:
    """The file that a name means in this process."""
    if name in sys.modules:
        return zygote_fork.origin(name)
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return spec.origin if spec else None


def main() -> None:
    with_others = sys.argv[1] == "listen"
    end = socket.socket(fileno=int(sys.argv[-1]))
    os.set_inheritable(end.fileno(), False)
    zygote = Zygote(listener=end) if with_others else Zygote(end)
    zygote.warm_up()
    zygote.serve()


if __name__ == "__main__":
    main()
