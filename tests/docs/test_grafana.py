"""The dashboard for Grafana is what the generator says, names only figures that there are, and can be imported."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest

import tarnbeck as tb
from docs import dashboard
from tarnbeck.serve.live import Subscribers
from tarnbeck.serve.metrics import Metrics
from tests.alert.shop import Watched, busy
from tests.docs.pages import ROOT

FOUND = json.loads((ROOT / "docs" / dashboard.FILE).read_text(encoding="utf-8"))
PANELS: list[dict[str, Any]] = [panel for panel in FOUND["panels"] if panel["type"] != "row"]
EXPRESSIONS = [target["expr"] for panel in PANELS for target in panel["targets"]]


class Running:
    """A node that tells of one thing of each kind, as a real one does."""

    def status(self) -> dict[str, Any]:
        flow = {"lag_records": 1, "lag_seconds": 0.5, "rate": 1.0, "records": 5, "bytes": 500}
        process = {"process": "live", "cpu_seconds": 1.0, "memory_bytes": 10, "uptime_seconds": 5.0}
        return {
            "parts": [{"part": "speed", "state": "running", **flow}],
            "views": [{"view": "total", "lag_records": 1, "lag_seconds": 0.5}],
            "streams": [{"stream": "orders", **flow}],
            "processes": [process],
        }

    def run(self, job: dict[str, Any]) -> Any:
        raise AssertionError(job)


@pytest.fixture
def figures(tmp_path: Path) -> dict[str, set[str]]:
    """The names that /metrics tells, each with its labels."""
    shop = Watched(tmp_path, lambda app: busy(app, tb.to_stream("alerts")))
    shop.order("pear", 20)
    shop.tick()
    shop.store.alerts.tried(1, "stream alerts", "timed out", over=False)
    metrics = Metrics(shop.store, Running(), Subscribers(shop.store, shop.clock))
    metrics.observe("/views/{view}", "GET", 200, 0.01)
    lines = generate_latest(metrics.registry).decode().splitlines()
    samples = [re.fullmatch(r"(\w+)(?:\{(.*)\})? \S+", line) for line in lines if not line.startswith("#")]
    return {found[1]: set(re.findall(r"(\w+)=\"", found[2] or "")) for found in samples if found is not None}


def test_it_is_up_to_date() -> None:
    text = (ROOT / "docs" / dashboard.FILE).read_text(encoding="utf-8")
    assert text == dashboard.dashboard(), "run: python -m docs.generate"


def test_every_figure_and_label_that_it_names_is_told(figures: dict[str, set[str]]) -> None:
    for panel in PANELS:
        for target in panel["targets"]:
            (name,) = re.findall(r"tarnbeck_\w+", target["expr"])
            assert name in figures, f"{panel['title']}: {name}"
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= figures[name], panel["title"]


def test_the_guide_explains_every_figure(figures: dict[str, set[str]]) -> None:
    explained = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(tarnbeck_\w+)`", explained))
    told = {re.sub(r"_(bucket|count|sum)$", "", name) for name in figures if not name.endswith("_created")}
    assert told - listed == set()


def test_grafana_gets_the_fields_that_it_needs() -> None:
    for name in ("uid", "title", "schemaVersion", "panels", "templating", "time", "refresh", "annotations"):
        assert name in FOUND
    names = [variable["name"] for variable in FOUND["templating"]["list"]]
    assert names == ["source", "job"]
    assert len({panel["id"] for panel in FOUND["panels"]}) == len(FOUND["panels"])
    for panel in PANELS:
        assert {"type", "title", "datasource", "gridPos", "fieldConfig", "options", "targets"} <= panel.keys()
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        assert all('{job=~"$job"' in target["expr"] for target in panel["targets"])


def test_panels_fill_the_grid_and_none_covers_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in FOUND["panels"]:
        place = panel["gridPos"]
        cells = {(place["x"] + i, place["y"] + j) for i in range(place["w"]) for j in range(place["h"])}
        assert not cells & taken, panel["title"]
        assert all(0 <= x < 24 for x, _ in cells)
        taken |= cells
