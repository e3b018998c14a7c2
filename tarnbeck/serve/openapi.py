"""The API described for programs (OpenAPI 3.1) and for people (one plain page)."""

from __future__ import annotations

import base64
import hashlib
import html
from importlib import metadata
from typing import Any

from tarnbeck.schema.packs import ARROW, NDJSON
from tarnbeck.serve.answer import LIMIT, MOST
from tarnbeck.serve.events import BIGGEST, LARGE
from tarnbeck.serve.live import MOST as MOST_LIVE
from tarnbeck.serve.parameters import HEARTBEAT
from tarnbeck.serve.render import JSON, KINDS
from tarnbeck.serve.service import LOG_SECONDS
from tarnbeck.serve.sse import KIND as SSE
from tarnbeck.serve.tail import BYTES, USUAL
from tarnbeck.serve.tail import MOST as MOST_EVENTS

Node = dict[str, Any]

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#222;"
    "background:#fff}code,pre{font:14px/1.5 ui-monospace,monospace;background:#f3f3f1;border-radius:4px;"
    "padding:.1em .3em}"
    "pre{padding:.8em;overflow-x:auto}h2{margin-top:2.2em;border-top:1px solid #ddd;padding-top:1em}"
    "table{border-collapse:collapse}td{padding:.2em 1em .2em 0;vertical-align:top}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}code,pre{background:#2a2a2a}h2{border-color:#444}}"
)
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'"
"""The page may use its own style and nothing else."""

_VALUES = (
    "In JSON, decimals (sums of integers too) are strings with their exact digits, times are ISO 8601 in UTC, binary "
    "values are base64, and a double that is not finite is null. `cut` says which events an answer covers: of each "
    "partition of the topic, all below that offset; `history` is the rows that came from files. `kept_since` says from "
    "when on a view that declares `keep` has its windows; null: all of them."
)


def _parameter(name: str, text: str, where: str = "query", type_: str = "string") -> Node:
    return {"name": name, "in": where, "required": where == "path", "description": text, "schema": {"type": type_}}


def _content(*kinds: str) -> Node:
    return {kind: {"schema": {"type": "object" if kind == JSON else "string"}} for kind in kinds}


def _operation(summary: str, text: str, example: str, **more: Any) -> Node:
    responses: Node = {"200": {"description": "It worked.", "content": _content(*more.pop("gives", (JSON,)))}}
    for status in more.pop("fails", ()):
        responses[str(status)] = {
            "description": _FAILURES[status],
            "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
    return {"summary": summary, "description": text, "x-example": example, "responses": responses, **more}


_FAILURES = {
    400: "The request is wrong; the message says what was expected.",
    401: "The token is missing or wrong.",
    404: "There is no such view or stream.",
    406: "None of the accepted content types can be given.",
    413: "The body or an event in it is too large; nothing was sent.",
    503: "Not ready: the view is building, a common cut was not reached in time, there are too many subscribers, or "
    "the log does not answer.",
}

_QUESTION = [
    _parameter("view", "The view's name.", "path"),
    _parameter("last", "Windows of the last so long, such as 1h or 10 minutes."),
    _parameter("since", "Windows that end after this ISO time; without a zone it is in UTC."),
    _parameter("until", "Windows that start before this ISO time."),
    _parameter("per", "A level of a rollup, such as minute; the finest if left out."),
    _parameter(
        "limit",
        f"At most so many rows, the newest: {LIMIT:,} unless told, {MOST:,} at most.",
        type_="integer",
    ),
    _parameter("null", "The name of a key column that must be null, or may be, beside other values of it."),
    _parameter("by", "Group by a key or NAME=EXPRESSION over keys, may be repeated; empty: all together."),
    _parameter("every", "Longer windows, put together from the stored ones, such as 1 day or 1 month; all: just one."),
    _parameter("fill", "true: also the windows without events.", type_="boolean"),
    _parameter("cumulative", "true: each window with all before it in the range.", type_="boolean"),
    _parameter("having", "A condition over the columns of the answer, such as n > 3."),
    _parameter("top", "The column whose greatest values come first; limit tells how many."),
    _parameter("ask", "OUTPUT=VALUE: what an output is asked about; may be repeated."),
    _parameter("bounds", "true: NAME_low and NAME_high of every estimate, too.", type_="boolean"),
    _parameter("against", "Compare last with this, key by key: each output twice, as `n` and `n_against`."),
]
_MOMENT = [
    _parameter("as_of", "Of a table: what was true at this ISO time."),
    _parameter("known", "Of a table: what the log had received by this ISO time."),
    _parameter("at_cut", "Of a table: what was known at this cut, such as 0:5,1:7."),
]
_LAYER = _parameter("layer", "batch: only what the batch layer has merged, at its own cut.")
_WAIT = _parameter("wait", "Wait up to so many seconds (60 at most) for a view that is building.", type_="number")

_PATHS: Node = {
    "/views": {
        "get": _operation(
            "All views",
            "Each view with its keys, levels and outputs (with `aggregate`, such as `first`; null for expressions and "
            "columns of tables), how long it keeps which level, its cut, and whether it is "
            "answering or building.",
            "curl localhost:8787/views",
        )
    },
    "/views/{view}": {
        "get": _operation(
            "Ask a view",
            "Rows ordered by keys and start. Key columns are parameters by their own names (or with `key.` before the "
            f"name, if it is the name of another parameter); one that is repeated has several values. {_VALUES}",
            "curl 'localhost:8787/views/ohlc?currency=EUR&last=1h&per=minute'",
            gives=KINDS,
            fails=(400, 404, 406, 503),
            parameters=[*_QUESTION, *_MOMENT, _LAYER, _WAIT],
        )
    },
    "/views/{view}/live": {
        "get": _operation(
            "Keep an answer up to date",
            "Server-sent events: first all rows of the question, then those that are new, changed or closed, each with "
            "its `timing`: `early` while its window is open, `on time` when it is told as closed for the first time, "
            "`late` when it changed after that; `removed` are rows that left. An event's id is version and cut: with "
            "`Last-Event-ID` a client goes on from there, or gets everything, with `reset`. A client that is slow gets "
            f"the newest state. At most {LIMIT:,} rows, {MOST_LIVE} subscribers.",
            "curl -N 'localhost:8787/views/ohlc/live?currency=EUR&last=1h&on=10s'",
            gives=(SSE,),
            fails=(400, 404, 503),
            parameters=[
                *_QUESTION,
                _parameter("on", "When to tell: `change` (if left out), `10s` by the clock, `after 5s`, or `close`."),
                _parameter("heartbeat", f"Seconds between signs of life: {HEARTBEAT:g} unless told.", type_="number"),
            ],
        )
    },
    "/sql": {
        "post": _operation(
            "Ask with SQL",
            "One query (DuckDB's dialect) over views, all of them from one moment; rollups have a column level. A view "
            "may be written as a function, coarser than it is stored: `ohlc(by => '', every => '1 day')`. "
            f"Read only; at most {LIMIT:,} rows unless `limit` says more, 10 seconds. The body is the query as text, "
            "or JSON with sql, limit, and wait (seconds to wait for one common cut of all views).",
            "curl localhost:8787/sql -H 'content-type: text/plain' -d 'select count(*) from ohlc'",
            gives=KINDS,
            fails=(400, 404, 406, 503),
            requestBody={"required": True, "content": _content("text/plain", JSON)},
        )
    },
    "/streams": {"get": _operation("All streams", "Each stream with its definition.", "curl localhost:8787/streams")},
    "/streams/{stream}": {
        "get": _operation(
            "One stream",
            "Its schema and definition, and of each partition the first offset, the end, and how far the lake is.",
            "curl localhost:8787/streams/prices",
            fails=(404, 503),
            parameters=[_parameter("stream", "The stream's name.", "path")],
        )
    },
    "/streams/{stream}/events": {
        "get": _operation(
            "Look at the newest events",
            "The newest events of the log, as they were sent, and `next`, the cut behind them. With `after`, those "
            "behind that cut; if they are more than `limit` the newest, and `skipped` tells how many were left out: a "
            "packed record that was not opened counts as one. No more than "
            f"{BYTES >> 20} MiB of values are given, and a log that does not answer within {LOG_SECONDS:g} seconds is "
            "an error.",
            "curl 'localhost:8787/streams/prices/events?limit=10'",
            fails=(400, 404, 503),
            parameters=[
                _parameter("stream", "The stream's name.", "path"),
                _parameter("after", "A cut such as 0:5,1:7: only events behind it."),
                _parameter("limit", f"At most so many: {USUAL} unless told, {MOST_EVENTS} at most.", type_="integer"),
            ],
        ),
        "post": _operation(
            "Send events",
            f"One JSON object, a list of them, one per line as {NDJSON}, or the rows of an Arrow stream as {ARROW}; at "
            f"most {BIGGEST // 2**20} MiB, each event 1 MiB. Arrow, and bodies from {LARGE // 2**10} KiB on, become "
            "packed records: many events at one offset. The answer comes when Kafka has acknowledged, with the first "
            "and last offset of each partition; "
            "when it took only some, the status is 503 and `failed` tells of the others. "
            "An event that does not fit the stream is taken all the same, and goes to quarantine.",
            "curl localhost:8787/streams/prices/events -H 'content-type: application/json' -d @event.json",
            fails=(400, 404, 413, 503),
            parameters=[_parameter("stream", "The stream's name.", "path")],
            requestBody={"required": True, "content": _content(JSON, NDJSON, ARROW)},
        ),
    },
    "/flow": {
        "get": _operation(
            "How data flows",
            "Every part, stream and view: its cut, how many records that is, how far it is behind, its last error.",
            "curl localhost:8787/flow",
            fails=(404,),
        )
    },
    "/versions": {
        "get": _operation(
            "Versions",
            "The versions of every view, what differs between them, and when the view was switched.",
            "curl localhost:8787/versions",
            fails=(404,),
        )
    },
    "/alerts": {
        "get": _operation(
            "Alerts",
            "Each rule with its state (inactive, pending or firing), the keys for which it holds, and what stands in "
            "its way; `history` has what was told, the newest first, and what became of it at each destination.",
            "curl localhost:8787/alerts",
            fails=(400,),
            parameters=[_parameter("limit", "How many notices, 100 unless told, 1,000 at most.", type_="integer")],
        )
    },
    "/healthz": {"get": _operation("Alive", "The process answers.", "curl localhost:8787/healthz")},
    "/readyz": {
        "get": _operation(
            "Ready", "The store can be read and every part runs.", "curl localhost:8787/readyz", fails=(503,)
        )
    },
    "/metrics": {"get": _operation("Figures", "For Prometheus.", "curl localhost:8787/metrics", gives=("text/plain",))},
    "/control/status": {
        "get": _operation(
            "State of the node",
            "Every part, its cut, lag, rate and last error.",
            "curl -H 'authorization: Bearer TOKEN' localhost:8787/control/status",
            fails=(401,),
            security=[{"token": []}],
        )
    },
    "/control/jobs": {
        "post": _operation(
            "Run a job",
            "A JSON job; the answer is a line of JSON per update, the last with result or error.",
            'curl -H \'authorization: Bearer TOKEN\' localhost:8787/control/jobs -d \'{"do": "batch", "views": []}\'',
            gives=(NDJSON,),
            fails=(400, 401),
            security=[{"token": []}],
            requestBody={"required": True, "content": _content(JSON)},
        )
    },
}


def document() -> Node:
    """The OpenAPI document."""
    error = {"kind": {"type": "string"}, "message": {"type": "string"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "tarnbeck", "version": metadata.version("tarnbeck"), "description": _VALUES},
        "paths": _PATHS,
        "components": {
            "schemas": {
                "Error": {
                    "type": "object",
                    "required": ["error"],
                    "properties": {"error": {"type": "object", "properties": error}},
                }
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def page() -> str:
    """The document as HTML that needs nothing else."""
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><title>tarnbeck API</title>"
        f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style><h1>tarnbeck API</h1>"
        f"<p>{_text(_VALUES)} For programs: <a href=openapi.json>openapi.json</a>.</p>"
    ]
    for path, methods in _PATHS.items():
        for method, operation in methods.items():
            parts.append(_section(path, method, operation))
    return "".join(parts)


def _section(path: str, method: str, operation: Node) -> str:
    rows = "".join(
        f"<tr><td><code>{html.escape(each['name'])}</code><td>{_text(each['description'])}"
        for each in operation.get("parameters", ())
    )
    return (
        f"<h2><code>{method.upper()} {html.escape(path)}</code></h2>"
        f"<p><b>{_text(operation['summary'])}.</b> {_text(operation['description'])}</p>"
        f"{f'<table>{rows}</table>' if rows else ''}<pre>{html.escape(operation['x-example'])}</pre>"
    )


def _text(text: str) -> str:
    """Escaped, with what stands in backticks as code."""
    pieces = html.escape(text).split("`")
    return "".join(f"<code>{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces))
