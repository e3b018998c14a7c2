"""Real receivers of notices: an HTTP server that behaves as it is told, and a mail server with TLS and passwords."""

from __future__ import annotations

import json
import ssl
import subprocess
import threading
from asyncio.base_events import Server
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session


@dataclass
class Hook:
    """What an HTTP server got, and how it answers: `status` 0 is silence until the test is over."""

    status: int = 200
    location: str | None = None
    drip: bool = False
    got: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    @property
    def states(self) -> list[str]:
        return [each["state"] for each in self.got]


@contextmanager
def hook(certificate: Path | None = None, **options: Any) -> Iterator[Hook]:
    made = Hook(**options)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            made.headers.append({name.lower(): value for name, value in self.headers.items()})
            made.got.append(json.loads(body))
            if made.drip:
                self._drip()
            elif made.status == 0:
                made.over.wait(60)
            else:
                self.send_response(made.status)
                if made.location is not None:
                    self.send_header("Location", made.location)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def _drip(self) -> None:
            """An answer that never ends, a few bytes at a time."""
            try:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                while not made.over.wait(0.05):
                    self.wfile.write(b"X-More: yes\r\n")
            except OSError:
                return

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name that it overrides)
            """Nothing: tests look at what was got."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme = "http"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    made.url = f"{scheme}://127.0.0.1:{server.server_port}/hook?x=1"
    try:
        yield made
    finally:
        made.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


@dataclass
class Post:
    """What a mail server got, and whom it was for; `answer` is how it takes a message.

    It does not know the address `refuse`, and is to be asked again for the address `defer`.
    """

    answer: str = "250 OK"
    refuse: str | None = None
    defer: str | None = None
    deferred: int = 0
    people: list[str] = field(default_factory=list)
    messages: list[EmailMessage] = field(default_factory=list)
    logged_in: list[str] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)
    port: int = 0

    async def handle_RCPT(  # noqa: N802 (the name that aiosmtpd calls)
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address == self.refuse:
            return "550 no such user"
        if address == self.defer:
            self.deferred += 1
            return "451 later"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:  # noqa: N802
        content = envelope.content
        assert isinstance(content, bytes)
        found = message_from_bytes(content, policy=policy.default)
        assert isinstance(found, EmailMessage)
        self.messages.append(found)
        self.people += envelope.rcpt_tos
        assert server.transport is not None
        self.encrypted.append(server.transport.get_extra_info("ssl_object") is not None)
        return self.answer

    def authenticate(self, server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        known = (data.login, data.password) == (b"alerts", b"a secret")
        self.logged_in += [data.login.decode()] if known else []
        return AuthResult(success=known, handled=known)


class AnyPort(Controller):
    """At whatever port is free; the server is asked for it before it is tried out."""

    def _trigger_server(self) -> None:
        assert isinstance(self.server, Server)
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()  # type: ignore[no-untyped-call]


@contextmanager
def post(certificate: Path | None = None, *, tls: bool = False, auth: bool = False, **options: Any) -> Iterator[Post]:
    """A mail server: plain, with STARTTLS if it has a certificate, or `tls` from the first byte."""
    made = Post(**options)
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
    login: dict[str, Any] = {"authenticator": made.authenticate} if auth else {}
    secured: dict[str, Any] = {"ssl_context": context} if tls else {"tls_context": context, "require_starttls": True}
    if tls:
        login |= {"auth_require_tls": False} if auth else {}
    controller = AnyPort(made, hostname="127.0.0.1", port=0, **(secured if context else {}), **login)
    controller.start()
    made.port = controller.port
    try:
        yield made
    finally:
        controller.stop()


def certificate(folder: Path) -> Path:
    """A key and a certificate of its own for 127.0.0.1, in one file, which is also what is to be trusted."""
    key, made = folder / "key.pem", folder / "certificate.pem"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(made)]
    subprocess.run(["openssl", "req", "-x509", *kind, *name, *files], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes(key.read_bytes() + made.read_bytes())
    return both
