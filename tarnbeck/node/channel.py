"""A process of the node and the pipe to it: one JSON object per line each way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import IO, Any

from tarnbeck.errors import SetupError
from tarnbeck.node.settings import Settings

Message = dict[str, Any]
READY = "ready"


class Child:
    """A process that ends when its pipe closes, so that it never outlives a node that was killed."""

    def __init__(self, module: str, settings: Settings, received: Callable[[Message], None]) -> None:
        self.name = module.rpartition(".")[2]
        self.output = settings.folder / "logs" / f"{self.name}.out"
        self.output.parent.mkdir(parents=True, exist_ok=True)
        self._received = received
        self._ready = threading.Event()
        self._lock = threading.Lock()
        with self.output.open("ab") as errors:
            # A session of its own: Ctrl-C in the terminal reaches the node alone, which then ends its parts in order.
            self.process = subprocess.Popen(  # noqa: S603
                [sys.executable, "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        self.tell(settings)
        self._reader = threading.Thread(target=self._read, name=f"{self.name}-reader", daemon=True)
        self._reader.start()

    def tell(self, settings: Settings) -> None:
        """Twice: first what is known before there is a log, and again when everything is registered."""
        self.send({"settings": settings.to_json()})

    def send(self, message: Message) -> bool:
        """Whether there is still a process to tell; that one ended before it answered, the reader tells."""
        assert self.process.stdin is not None  # noqa: S101 (opened as a pipe above)
        with self._lock:
            try:
                self.process.stdin.write(json.dumps(message).encode() + b"\n")
                self.process.stdin.flush()
            except (BrokenPipeError, ValueError):
                return False
        return True

    def _read(self) -> None:
        assert self.process.stdout is not None  # noqa: S101 (opened as a pipe above)
        for line in self.process.stdout:
            message = json.loads(line)
            if READY in message:
                self._ready.set()
            self._received(message)
        self.process.wait()
        self._ready.set()
        self._received({"ended": self.process.returncode})

    def await_ready(self, seconds: float) -> None:
        """Returns when the process has said that it is ready; raises with its last words when it died instead."""
        if not self._ready.wait(seconds) or self.process.poll() is not None:
            words = self.output.read_text(errors="replace").splitlines()[-12:]
            raise SetupError(
                f"node: the {self.name} process did not start\n  see {self.output}\n"
                + "\n".join(f"    {line}" for line in words)
            )

    def stop(self, seconds: float) -> None:
        """Closes the pipe and waits; one that does not end by then, or had not even started, is killed."""
        assert self.process.stdin is not None  # noqa: S101 (opened as a pipe above)
        with self._lock:
            self.process.stdin.close()
        if not self._ready.is_set():
            self.process.kill()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        assert self.process.stdout is not None  # noqa: S101
        self.process.stdout.close()


class Parent:
    """The other end of the pipe, inside the child."""

    def __init__(self) -> None:
        # What Spark or a library prints must not get between the messages.
        self._out: IO[bytes] = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self._lock = threading.Lock()

    def settings(self) -> Settings:
        """What the node tells next about itself."""
        line = sys.stdin.readline()
        if not line:
            raise SystemExit(0)
        return Settings.from_json(json.loads(line)["settings"])

    def send(self, message: Message) -> None:
        with self._lock:
            try:
                self._out.write(json.dumps(message).encode() + b"\n")
                self._out.flush()
            except BrokenPipeError:
                return  # the node is gone; the end of standard input tells

    def messages(self) -> Iterator[Message]:
        """What the node asks, until it closes the pipe or dies."""
        for line in sys.stdin:
            yield json.loads(line)
