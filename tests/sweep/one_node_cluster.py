"""A real Slurm cluster of one node, this machine, in a folder: its own munge, controller and node daemon."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

SETTINGS = """\
ClusterName=vramfit
SlurmctldHost={host}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldPort={controller_port}
SlurmdPort={node_port}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerParameters=sched_interval=1,bf_interval=1
MinJobAge=5
KillWait=3
NodeName={host} CPUs={cores} State=UNKNOWN
PartitionName=debug Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, seconds: float, what: str) -> None:
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise TimeoutError(what)
        time.sleep(0.2)


@dataclass
class Cluster:
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def ask(self, *words: str) -> str:
        return subprocess.run(
            words, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=30
        ).stdout

    def start(self) -> None:
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir(mode=0o700)
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        user = pwd.getpwuid(os.getuid()).pw_name
        settings = SETTINGS.format(
            host=socket.gethostname().split(".")[0],
            user=user,
            folder=self.folder,
            controller_port=free_port(),
            node_port=free_port(),
            cores=os.cpu_count(),
        )
        (self.folder / "slurm.conf").write_text(settings)
        munge = self.folder / "munge"
        self.run("munged", "--force", f"--socket={munge}/socket", f"--key-file={key}", f"--log-file={munge}/log",
                 f"--pid-file={munge}/pid", f"--seed-file={munge}/seed")  # fmt: skip
        self.run("slurmctld")
        self.run("slurmd")
        wait_until(lambda: "idle" in self.ask("sinfo", "--noheader"), 30, "the node did not come up")

    def run(self, program: str, *words: str) -> None:
        found = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        assert found, f"{program} is not installed: tools/set_up test installs it"
        subprocess.run([found, *words], env={**os.environ, **self.environment}, check=True, timeout=30)

    def stop(self) -> None:
        self.ask("scancel", "--user", pwd.getpwuid(os.getuid()).pw_name)
        for pid_file in (self.folder / "slurmd.pid", self.folder / "slurmctld.pid", self.folder / "munge" / "pid"):
            if pid_file.exists():
                subprocess.run(["kill", pid_file.read_text().strip()], check=False)
                wait_until(lambda file=pid_file: not file.exists(), 20, f"{pid_file.name} did not end")
