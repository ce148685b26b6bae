"""A user's folder as a job on a virtual card finds it, under one way of keeping it as it is."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
from product import VRAMFIT, Finished, Product, strict_schema

KINDS = ("overlay", "user_namespace", "supervisor")
OFFERED: dict[str, bool] = {}


def is_offered(kind: str) -> bool:
    """Whether this machine offers it to this user, as the program itself finds out: for a script that needs no
    torch."""
    if kind not in OFFERED:
        words = [str(VRAMFIT), "run", "--gpu", "t4", "--", sys.executable, "-c", "pass"]
        environment = {**os.environ, "VRAMFIT_LAYER_KIND": kind, "VRAMFIT_STORE": "none"}
        done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
        OFFERED[kind] = done.returncode == 0
    return OFFERED[kind]


def state_of(folder: Path) -> dict[str, Any]:
    """Every entry with its kind, rights, time and content."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        if path.is_symlink():
            content = os.readlink(path)
        elif path.is_file():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            content = ""
        found[str(path.relative_to(folder))] = (oct(status.st_mode), status.st_mtime_ns, content)
    return found


@dataclass
class Place:
    """A user's folder, with a script beside it, so that nothing in it is ours."""

    product: Product
    kind: str

    @property
    def work(self) -> Path:
        path = self.product.folder / "work"
        path.mkdir(exist_ok=True)
        return path

    def words(self, text: str, *arguments: str, options: tuple[str, ...] = (), verb: str = "run") -> list[str]:
        script = self.product.script(text)
        report = self.product.folder / "result.json"
        report.unlink(missing_ok=True)
        own = [verb, "--gpu", "rtx3060", "--json", str(report), *options]
        return [str(VRAMFIT), *own, "--", sys.executable, str(script), *arguments]

    def environment(self, **variables: str) -> dict[str, str]:
        return self.product.environment(**{"VRAMFIT_LAYER_KIND": self.kind, **variables})

    def run(self, text: str, *arguments: str, options: tuple[str, ...] = (), **variables: str) -> Finished:
        return self.call(self.words(text, *arguments, options=options), **variables)

    def call(self, words: list[str], **variables: str) -> Finished:
        done = subprocess.run(
            words,
            cwd=self.work,
            env=self.environment(**variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        finished = self.product.read(
            Finished(done.returncode, done.stdout, done.stderr), self.product.folder / "result.json"
        )
        if finished.result:
            jsonschema.validate(finished.result, strict_schema("run"))
        assert list(self.product.temporary.iterdir()) == [], "something of ours is left"
        return finished

    def untouched(self, text: str, *arguments: str, **more: Any) -> Finished:
        """Runs it, and holds the folder to what it was."""
        before = state_of(self.work)
        finished = self.run(text, *arguments, **more)
        assert state_of(self.work) == before, str(finished)
        return finished
