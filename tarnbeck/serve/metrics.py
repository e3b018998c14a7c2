"""Figures for Prometheus: requests and their times, the cut of each view, and how far every part is behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Gauge, Histogram
from prometheus_client import Counter as Total
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tarnbeck.cut import partition_name
from tarnbeck.serve.control import Control
from tarnbeck.serve.live import Subscribers
from tarnbeck.store import rules
from tarnbeck.store.protocol import Store

_BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """The figures of one application, in a registry of its own."""

    def __init__(self, store: Store, control: Control | None, live: Subscribers) -> None:
        self.registry = CollectorRegistry()
        subscribers = Gauge("tarnbeck_live_subscribers", "Open live questions.", registry=self.registry)
        subscribers.set_function(lambda: live.subscribers)
        self._requests = Total(
            "tarnbeck_requests", "HTTP requests answered.", ("route", "method", "status"), registry=self.registry
        )
        self._seconds = Histogram(
            "tarnbeck_request_seconds",
            "Seconds until a response was ready.",
            ("route",),
            buckets=_BUCKETS,
            registry=self.registry,
        )
        traffic = Total("tarnbeck_http_bytes", "Bytes of bodies.", ("direction",), registry=self.registry)
        self.took, self.gave = (traffic.labels(direction).inc for direction in ("in", "out"))
        self.registry.register(_Progress(store, control))

    def observe(self, route: str, method: str, status: int, seconds: float) -> None:
        self._requests.labels(route, method, str(status)).inc()
        self._seconds.labels(route).observe(seconds)


class _Progress:
    """Asked anew for each scrape."""

    def __init__(self, store: Store, control: Control | None) -> None:
        self._store, self._control = store, control

    def describe(self) -> Iterable[Metric]:
        """Nothing: what there is to tell is known only when asked."""
        return ()

    def collect(self) -> Iterator[Metric]:
        cut = GaugeMetricFamily("tarnbeck_view_offset", "Next offset of a view.", labels=("view", "partition"))
        answers = GaugeMetricFamily("tarnbeck_view_answers", "Whether a view can answer.", labels=("view",))
        beyond = GaugeMetricFamily(
            "tarnbeck_view_beyond_batch_records", "Records of a view that no batch has yet.", labels=("view",)
        )
        with self._store.snapshot() as snapshot:
            for view, version in snapshot.versions.items():
                answers.add_metric((view,), float(rules.answerable(version)))
                batch = version.origin if version.generation is None else version.generation.cut
                beyond.add_metric((view,), batch.meet(version.cut).span_to(version.cut).records)
                for partition, offset in version.cut:
                    cut.add_metric((view, partition_name(partition)), offset)
        yield cut
        yield answers
        yield beyond
        yield from _of_alerts(self._store)
        if self._control is not None:
            yield from _of_status(self._control.status())


def _of_alerts(store: Store) -> Iterator[Metric]:
    keys = GaugeMetricFamily("tarnbeck_alert_keys", "Keys that are pending or firing.", labels=("rule", "state"))
    found = Counter((state.rule, state.state) for state in store.alerts.states())
    for rule in store.alerts.rules():
        for state in ("pending", "firing"):
            keys.add_metric((rule.rule, state), found[rule.rule, state])
    yield keys
    waiting = GaugeMetricFamily("tarnbeck_alert_notices_waiting", "Notices not told yet.", labels=("destination",))
    told = CounterMetricFamily(
        "tarnbeck_alert_deliveries", "Tries to tell: sent, retried, failed, dropped.", labels=("destination", "outcome")
    )
    for (destination, outcome), count in store.alerts.totals().items():
        if outcome == "waiting":
            waiting.add_metric((destination,), count)
        else:
            told.add_metric((destination, outcome), count)
    yield waiting
    yield told


def _of_status(status: Mapping[str, Any]) -> Iterator[Metric]:
    running = GaugeMetricFamily("tarnbeck_part_running", "Whether a part runs.", labels=("part",))
    for part in status.get("parts", ()):
        running.add_metric((part["part"],), float(part["state"] == "running"))
    yield running
    for kind in ("part", "view", "stream"):
        for figure, unit in (("lag_records", "records"), ("lag_seconds", "seconds"), ("rate", "records per second")):
            family = GaugeMetricFamily(f"tarnbeck_{kind}_{figure}", f"{figure} of a {kind}, in {unit}.", labels=(kind,))
            for each in status.get(f"{kind}s", ()):
                if isinstance(each.get(figure), (int, float)):
                    family.add_metric((each[kind],), each[figure])
            if family.samples:
                yield family
    yield from _totals(status)


_TOTALS = (
    ("tarnbeck_part_records", "Records that a part took since the node was started.", "part", "records"),
    ("tarnbeck_part_bytes", "Bytes of the records that a part took.", "part", "bytes"),
    ("tarnbeck_stream_records", "Records of a stream in the log.", "stream", "records"),
    (
        "tarnbeck_process_cpu_seconds",
        "Seconds of CPU that a process and those below it took.",
        "process",
        "cpu_seconds",
    ),
)
_SIZES = (
    ("tarnbeck_process_memory_bytes", "Resident memory of a process and those below it.", "process", "memory_bytes"),
    ("tarnbeck_process_uptime_seconds", "Seconds since a process was started.", "process", "uptime_seconds"),
)


def _totals(status: Mapping[str, Any]) -> Iterator[Metric]:
    """What grows, and what processes take."""
    for make, figures in ((CounterMetricFamily, _TOTALS), (GaugeMetricFamily, _SIZES)):
        for name, text, kind, figure in figures:
            family = make(name, text, labels=(kind,))
            for each in status.get("processes" if kind == "process" else f"{kind}s", ()):
                if figure in each:
                    family.add_metric((each[kind],), each[figure])
            yield family


class Traffic:
    """Counts the bytes of bodies that come in and go out, live questions among them."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def received() -> Message:
            message = await receive()
            self._metrics.took(len(message.get("body", b"")))
            return message

        async def sent(message: Message) -> None:
            self._metrics.gave(len(message.get("body", b"")))
            await send(message)

        await self._app(scope, received, sent)
