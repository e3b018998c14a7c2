"""What stands before the API: which names it answers to, which pages may call it, and what browsers may do with it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarnbeck.serve.render import JSON, to_json

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}


class Guard:
    """Refuses requests under a foreign name (DNS rebinding) and from foreign pages, and adds security headers."""

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        self._app = app
        self._names = {"localhost", *(name.lower().strip("[]") for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(Headers(scope=scope))
        if refusal is None:
            await self._app(scope, receive, secured)
        else:
            content = to_json({"error": {"kind": "UsageError", "message": refusal}})
            await Response(content, 403, media_type=JSON)(scope, receive, secured)

    def _refusal(self, headers: Headers) -> str | None:
        host = headers.get("host", "")
        if not self._knows(host):
            return f"host: {host!r} is not a name of this server\n  start it with that name: --host"
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            return f"origin: pages of {origin!r} may not call this server"
        return None

    def _knows(self, host: str) -> bool:
        """An address can't be rebound, only a name can."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True
