"""Where notices of alerts go: webhooks, email and streams, as data that holds no secret, only where one is found."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from tarnbeck.errors import DeclarationError, UsageError
from tarnbeck.window.duration import SECOND, duration

Security = Literal["starttls", "tls", "none"]
PORTS: dict[str, int] = {"starttls": 587, "tls": 465, "none": 25}
LONGEST_TIMEOUT = 60 * SECOND

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_ADDRESS = re.compile(r"[^@\s<>,;:\"]+@[^@\s<>,;:\"]+")
_LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Webhook:
    """A URL that is sent each notice as JSON."""

    label: str
    url: str | None = field(repr=False)
    url_env: str | None
    headers_env: tuple[tuple[str, str], ...]
    ca: str | None
    timeout: int


@dataclass(frozen=True)
class Email:
    """People who are sent each notice by a mail server."""

    label: str
    to: tuple[str, ...]
    sender: str
    server: str
    port: int
    security: Security
    user: str | None
    password_env: str | None
    password_file: str | None
    ca: str | None
    timeout: int


@dataclass(frozen=True)
class ToStream:
    """A stream of the application that gets each notice as an event."""

    stream: str

    @property
    def label(self) -> str:
        return f"stream {self.stream}"


Destination = Webhook | Email | ToStream


def webhook(
    url: str | None = None,
    /,
    *,
    url_env: str | None = None,
    headers_env: Mapping[str, str] | None = None,
    ca: str | None = None,
    timeout: str = "10 seconds",
    name: str | None = None,
) -> Webhook:
    """Sends each notice of an alert to a URL, as JSON by POST; redirects are not followed.

    A URL that is a secret itself comes from an environment variable: `url_env`. So do headers:
    `headers_env={"Authorization": "HOOK_TOKEN"}`. `ca` is a file of certificates to trust, `name` what it is called in
    lists.
    """
    place = "webhook" if url is None else "webhook(…)"
    if (url is None) == (url_env is None):
        raise DeclarationError(f"{place}: expected either a URL or url_env, the environment variable that holds it")
    headers = tuple(sorted((headers_env or {}).items()))
    for header, variable in headers:
        if not _HEADER.fullmatch(header):
            raise DeclarationError(f"{place}: bad header {header!r}")
        _variable(place, "headers_env", variable)
    shown = f"${_variable(place, 'url_env', url_env)}" if url is None else checked_url(url, secret=bool(headers))
    return Webhook(name or f"webhook {shown}", url, url_env, headers, ca, _timeout(place, timeout))


def checked_url(url: str, *, secret: bool) -> str:
    """The host of a URL that notices may be sent to; `secret` tells whether secrets go with them.

    Nothing else of it is told in messages: it may be a secret itself.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise DeclarationError("webhook: bad URL\n  expected such as 'https://example.com/hook'") from None
    if parts.scheme not in ("http", "https") or not host or not _plain(url):
        raise DeclarationError(
            "webhook: bad URL\n  expected one with http or https, such as 'https://example.com/hook'"
        )
    if parts.username is not None or parts.password is not None:
        raise DeclarationError(
            "webhook: its URL holds a user or password\n"
            '  give them in a header from the environment: headers_env={"Authorization": "HOOK_TOKEN"}'
        )
    if secret and parts.scheme == "http" and host not in _LOCAL:
        raise DeclarationError(f"webhook: secret headers would go to {host} without encryption\n  use https")
    return host if port is None else f"{host}:{port}"


def _plain(url: str) -> bool:
    return url.isascii() and url.isprintable() and " " not in url


def email(
    to: str | Sequence[str],
    /,
    *,
    server: str,
    sender: str,
    security: Security = "starttls",
    port: int | None = None,
    user: str | None = None,
    password_env: str | None = None,
    password_file: str | None = None,
    ca: str | None = None,
    timeout: str = "30 seconds",
    name: str | None = None,
) -> Email:
    """Sends each notice of an alert by email, over STARTTLS unless `security` is "tls" or "none".

    The password of `user` comes from an environment variable, `password_env`, or a file, `password_file`, each time
    that it is needed. `ca` is a file of certificates to trust, `name` what it is called in lists.
    """
    people = (to,) if isinstance(to, str) else tuple(to)
    place = f"email({', '.join(people)})"
    for address in (*people, sender):
        if not _ADDRESS.fullmatch(address):
            raise DeclarationError(f"{place}: bad address {address!r}\n  expected such as 'ops@example.com'")
    if not people:
        raise DeclarationError("email: it goes to no one\n  name at least one address")
    if security not in PORTS:
        raise DeclarationError(f"{place}: unknown security {security!r}\n  expected one of: {', '.join(PORTS)}")
    given = [each for each in (password_env, password_file) if each is not None]
    if len(given) != (0 if user is None else 1):
        raise DeclarationError(
            f"{place}: expected a user together with either password_env or password_file, or none of them"
        )
    if password_env is not None:
        _variable(place, "password_env", password_env)
    if user is not None and security == "none":
        raise DeclarationError(f"{place}: a password would be sent without encryption\n  use starttls or tls")
    at = PORTS[security] if port is None else port
    label = name or f"email {', '.join(people)}"
    wait = _timeout(place, timeout)
    return Email(label, people, sender, server, at, security, user, password_env, password_file, ca, wait)


def to_stream(name: str, /) -> ToStream:
    """Sends each notice of an alert to a stream of this name, which the app then has: views and others may read it."""
    return ToStream(name)


def _variable(place: str, option: str, name: str | None) -> str:
    if name is None or not _VARIABLE.fullmatch(name):
        raise DeclarationError(
            f"{place}: {option}: expected the name of an environment variable\n  never the secret itself"
        )
    return name


def _timeout(place: str, text: str) -> int:
    try:
        found = duration(text)
    except UsageError as wrong:
        raise DeclarationError(f"{place}: timeout={text!r}: {wrong}") from None
    if found > LONGEST_TIMEOUT:
        raise DeclarationError(f"{place}: timeout={text!r}: expected at most a minute")
    return found
