"""Makes the dashboard for Grafana over /metrics: rows of panels, each about one thing that people want to know."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

FILE = "grafana/tarnbeck.json"
WIDTH, HEIGHT, ACROSS = 8, 8, 3
SOURCE = {"type": "prometheus", "uid": "${source}"}
JOB = '{job=~"$job"}'
"""Stands behind every metric in a query: which of several nodes is looked at."""


@dataclass(frozen=True)
class Panel:
    """One chart: queries, each with how its lines are named."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    text: str
    kind: str = "timeseries"


ROWS: dict[str, tuple[Panel, ...]] = {
    "How it is": (
        Panel(
            "Alerts firing",
            "short",
            (('sum by (rule) (tarnbeck_alert_keys{job=~"$job",state="firing"})', "{{rule}}"),),
            "Keys for which each rule fires.",
            "stat",
        ),
        Panel(
            "Parts that run",
            "short",
            ((f"tarnbeck_part_running{JOB}", "{{part}}"),),
            "1 if a part runs.",
            "stat",
        ),
        Panel(
            "Views that can answer",
            "short",
            ((f"tarnbeck_view_answers{JOB}", "{{view}}"),),
            "1 if a view can answer, 0 while it is building.",
            "stat",
        ),
    ),
    "Freshness": (
        Panel(
            "How old answers are",
            "s",
            ((f"tarnbeck_view_lag_seconds{JOB}", "{{view}}"),),
            "For how long the first record that a view lacks has been in the log.",
        ),
        Panel(
            "Records behind the log",
            "short",
            ((f"tarnbeck_view_lag_records{JOB}", "{{view}}"), (f"tarnbeck_stream_lag_records{JOB}", "lake {{stream}}")),
            "Of views and of the lake.",
        ),
        Panel(
            "Records since the last batch",
            "short",
            ((f"tarnbeck_view_beyond_batch_records{JOB}", "{{view}}"),),
            "What a view has from the speed layer alone; a batch takes it to zero.",
        ),
    ),
    "What comes in": (
        Panel(
            "Records per second into the log",
            "rps",
            ((f"rate(tarnbeck_stream_records_total{JOB}[1m])", "{{stream}}"),),
            "By stream.",
        ),
        Panel(
            "Records per second by part",
            "rps",
            ((f"rate(tarnbeck_part_records_total{JOB}[1m])", "{{part}}"),),
            "What the layers took.",
        ),
        Panel(
            "Bytes per second by part",
            "Bps",
            ((f"rate(tarnbeck_part_bytes_total{JOB}[1m])", "{{part}}"),),
            "Bytes of the records that the layers took.",
        ),
    ),
    "Who asks": (
        Panel(
            "Requests per second",
            "reqps",
            ((f"sum by (route, status) (rate(tarnbeck_requests_total{JOB}[1m]))", "{{route}} {{status}}"),),
            "By route and status.",
        ),
        Panel(
            "Time of answers, 99 of 100",
            "s",
            (
                (
                    f"histogram_quantile(0.99, sum by (le, route) (rate(tarnbeck_request_seconds_bucket{JOB}[5m])))",
                    "{{route}}",
                ),
            ),
            "Within which 99 of 100 requests were answered.",
        ),
        Panel(
            "HTTP bytes per second, and live questions",
            "short",
            (
                (f"rate(tarnbeck_http_bytes_total{JOB}[1m])", "{{direction}}"),
                (f"tarnbeck_live_subscribers{JOB}", "live questions"),
            ),
            "Bodies that come in and go out.",
        ),
    ),
    "What it takes": (
        Panel(
            "CPU",
            "percentunit",
            ((f"rate(tarnbeck_process_cpu_seconds_total{JOB}[1m])", "{{process}}"),),
            "Share of a core, with all processes below each.",
        ),
        Panel("Memory", "bytes", ((f"tarnbeck_process_memory_bytes{JOB}", "{{process}}"),), "Resident memory."),
        Panel("Up for", "s", ((f"tarnbeck_process_uptime_seconds{JOB}", "{{process}}"),), "Since it was started."),
    ),
    "Alerts": (
        Panel(
            "Keys by rule",
            "short",
            ((f"tarnbeck_alert_keys{JOB}", "{{rule}} {{state}}"),),
            "For how many keys each rule is pending or fires.",
        ),
        Panel(
            "Notices that wait",
            "short",
            ((f"tarnbeck_alert_notices_waiting{JOB}", "{{destination}}"),),
            "What a destination has not taken yet.",
        ),
        Panel(
            "Deliveries",
            "short",
            ((f"increase(tarnbeck_alert_deliveries_total{JOB}[5m])", "{{destination}} {{outcome}}"),),
            "Sent, retried, failed for good, dropped.",
        ),
    ),
}


def dashboard() -> str:
    """The JSON that Grafana imports."""
    panels: list[dict[str, Any]] = []
    for number, (title, row) in enumerate(ROWS.items()):
        top = number * (HEIGHT + 1)
        place = {"h": 1, "w": WIDTH * ACROSS, "x": 0, "y": top}
        panels.append({"id": len(panels) + 1, "type": "row", "title": title, "gridPos": place, "panels": []})
        for column, panel in enumerate(row):
            panels.append(_panel(len(panels) + 1, panel, column * WIDTH, top + 1))
    found = {
        "uid": "tarnbeck",
        "title": "tarnbeck",
        "description": "A node of tarnbeck: freshness, flow, requests, what it takes, alerts.",
        "tags": ["tarnbeck"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "timezone": "browser",
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "annotations": {"list": []},
        "links": [],
        "templating": {"list": [_source(), _job()]},
        "panels": panels,
    }
    return json.dumps(found, indent=1) + "\n"


def _panel(number: int, panel: Panel, x: int, y: int) -> dict[str, Any]:
    targets = [
        {"refId": chr(ord("A") + place), "datasource": SOURCE, "expr": query, "legendFormat": legend}
        for place, (query, legend) in enumerate(panel.queries)
    ]
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": SOURCE,
        "gridPos": {"h": HEIGHT, "w": WIDTH, "x": x, "y": y},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "options": {"legend": {"displayMode": "list", "placement": "bottom"}} if panel.kind == "timeseries" else {},
        "targets": targets,
    }


def _source() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus", "refresh": 1}


def _job() -> dict[str, Any]:
    query = "label_values(tarnbeck_view_answers, job)"
    return {
        "name": "job",
        "label": "Job",
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": query, "refId": "job"},
        "definition": query,
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }
