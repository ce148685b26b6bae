"""vramfit serve as tests start it, and plain requests to it."""

from __future__ import annotations

import functools
import http.client
import json
import re
import signal
import socket
import subprocess
from dataclasses import dataclass, field
from typing import Any

from product import VRAMFIT, Product
from product import wait_for as wait_at_most

wait_for = functools.partial(wait_at_most, seconds=60)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: str


@dataclass
class SiteServer:
    product: Product
    port: int = 0
    host: str = "127.0.0.1"
    words: list[str] = field(default_factory=list)
    before: list[str] = field(default_factory=list)  # what starts it
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        said = self.product.folder / "serve.txt"
        with open(said, "wb") as errors:
            self.process = subprocess.Popen(
                [*self.before, str(VRAMFIT), "serve", "--port", str(self.port), *self.words],
                cwd=self.product.folder,
                env=self.product.environment(),
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
            )
        found = wait_for(lambda: self.process.poll() is not None or re.search(r":(\d+)/", said.read_text()))
        assert not isinstance(found, bool), said.read_text()
        self.port = int(found[1])

    def stop(self) -> int:
        """Ctrl-C. Its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=60)

    @property
    def address(self) -> str:
        return f"http://{self.host}:{self.port}"

    def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, headers=given)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, body)

    def ask_json(self, path: str) -> Any:
        answer = self.ask(path)
        assert answer.status == 200, answer
        return json.loads(answer.body)

    def connect(self) -> socket.socket:
        return socket.create_connection((self.host, self.port), timeout=60)

    def talk(self, request: bytes) -> bytes:
        """What comes back until the other side ends it."""
        with self.connect() as connection:
            try:
                connection.sendall(request)
            except (BrokenPipeError, ConnectionResetError):
                pass  # it had enough before the end
            answer = b""
            try:
                while piece := connection.recv(65536):
                    answer += piece
            except ConnectionResetError:
                pass
            return answer
