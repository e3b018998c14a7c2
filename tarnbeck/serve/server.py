"""Runs the API in a thread of its own, and ends it in order."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.flow_control import FlowControl

from tarnbeck.errors import SetupError

_STOPS_WITHIN = 5
_TAKES_WITHIN = 1
_CONNECTIONS = 512


class _Uvicorn(uvicorn.Server):
    """A server that says when it is up, and ends streams before it waits for responses to end."""

    def __init__(self, config: uvicorn.Config, end: Callable[[], None]) -> None:
        super().__init__(config)
        self.up = threading.Event()
        self._end = end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.up.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._end()
        asyncio.get_running_loop().call_later(_TAKES_WITHIN, self._drop)
        await super().shutdown(sockets)

    def _drop(self) -> None:
        """A client that takes nothing of what was sent must not hold up the end."""
        for connection in list(self.server_state.connections):
            flow: FlowControl | None = getattr(connection, "flow", None)
            if flow is not None and flow.write_paused:
                connection.transport.abort()


@dataclass(frozen=True)
class Server:
    """A running server; `port` is the real one."""

    host: str
    port: int
    _server: _Uvicorn
    _thread: threading.Thread

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def stop(self) -> None:
        """Lets requests end for a few seconds, then ends; calling it twice is fine."""
        self._server.should_exit = True
        self._thread.join()


def serve(application: Starlette, host: str, port: int) -> Server:
    """Starts serving at once; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise SetupError(
            f"can't listen on {host}:{port}: {error.strerror or error}\n  choose another port, or 0 for a free one"
        ) from None
    # Connections inherit this; without it a response in two pieces waits 40 ms for the client's acknowledgement.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    server = _Uvicorn(
        uvicorn.Config(
            application,
            log_config=None,
            access_log=False,
            lifespan="off",
            server_header=False,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=_STOPS_WITHIN,
        ),
        application.state.live.end,
    )

    def run() -> None:
        try:
            server.run(sockets=[listening])
        finally:
            listening.close()
            server.up.set()

    thread = threading.Thread(target=run, name="http", daemon=True)
    thread.start()
    server.up.wait()
    if not server.started:
        raise SetupError(f"the HTTP server on {host}:{port} did not start\n  see the lines above")
    return Server(host, listening.getsockname()[1], server, thread)
