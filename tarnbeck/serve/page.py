"""The live page: its files, read once, compressed once, and served with the strictest policy that lets them work."""

from __future__ import annotations

import functools
import gzip
import hashlib
from dataclasses import dataclass
from importlib import resources

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from tarnbeck.serve.service import Service

KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class File:
    """One file of the page, as it goes over the wire."""

    kind: str
    whole: bytes
    packed: bytes
    tag: str


@functools.cache
def files() -> dict[str, File]:
    """All files of the page, by their names."""
    found = {}
    for entry in (resources.files("tarnbeck") / "page").iterdir():
        kind = KINDS.get(entry.name.rpartition(".")[2])
        if kind is not None:
            whole = entry.read_bytes()
            tag = f'"{hashlib.sha256(whole).hexdigest()[:20]}"'
            found[entry.name] = File(kind, whole, gzip.compress(whole, mtime=0), tag)
    return found


async def index(service: Service, request: Request) -> Response:
    return _served(request, "index.html")


async def file(service: Service, request: Request) -> Response:
    return _served(request, request.path_params["file"])


def _served(request: Request, name: str) -> Response:
    found = files().get(name)
    if found is None:
        raise HTTPException(404, f"the page has no file {name!r}")
    headers = {
        "Content-Security-Policy": POLICY,
        # Asked for anew each time and answered with 304: a new tarnbeck never meets an old page.
        "Cache-Control": "no-cache",
        "ETag": found.tag,
        "Vary": "Accept-Encoding",
    }
    if request.headers.get("if-none-match") == found.tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(found.packed, media_type=found.kind, headers={**headers, "Content-Encoding": "gzip"})
    return Response(found.whole, media_type=found.kind, headers=headers)
