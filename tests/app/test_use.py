"""Streams of other apps as they are declared: found by name, read from the other's catalog, and never written."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import runpy
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.cut import Cut
from tarnbeck.errors import DeclarationError, LogError, StoreError, UsageError
from tarnbeck.log.correct import correct
from tarnbeck.log.produce import Sender
from tarnbeck.log.settings import LogSettings
from tarnbeck.node.logs import shared
from tarnbeck.plan.definition import of_stream
from tarnbeck.schema.stream import Former
from tarnbeck.serve.clock import now
from tarnbeck.store import foreign
from tarnbeck.store.sqlite import SQLiteStore
from tarnbeck.testing import run

SCHEMA = "time timestamp, currency string, price decimal(18,2)"
ORIGIN, LAKE = Cut.of("id", {0: 3}), Cut.of("id", {0: 40, 1: 7})
NOWHERE = LogSettings("127.0.0.1:9")


def bitcoin(folder: Path, schema: str = SCHEMA) -> Path:
    """An app that has run: what its catalog says of its streams."""
    app = tb.App("bitcoin")
    prices = app.stream("prices", schema, time="time", key="currency", partitions=3)
    app.derive("dear", prices, where="price > 1000")
    store = SQLiteStore(folder / "store", now)
    store.set_meta(foreign.APP, "bitcoin")
    for stream in app.streams.values():
        store.register_stream(stream.name, json.dumps(of_stream(stream)), stream.topic, ORIGIN, LAKE)
        store.follow_lake(stream.name, LAKE)
    store.close()
    return folder


def fingerprint(folder: Path) -> str:
    return hashlib.sha256((folder / "store" / "catalog.db").read_bytes()).hexdigest()


def test_a_used_stream_is_what_the_other_catalog_says_under_a_name_of_this_app(tmp_path: Path) -> None:
    folder = bitcoin(tmp_path / "bitcoin" / ".tarnbeck")
    before = fingerprint(folder)
    app = tb.App("report")
    prices, btc = app.use("bitcoin/prices", folder=folder), app.use("bitcoin/prices", name="btc", folder=folder)
    assert (prices.name, prices.topic, prices.key, prices.partitions, prices.create) == (
        "prices", "bitcoin.prices", "currency", 3, False,
    )  # fmt: skip
    assert str(prices.schema) == str(btc.schema) == SCHEMA
    assert btc.owner == prices.owner
    assert btc.owner is not None
    assert (btc.owner.app, btc.owner.stream, btc.owner.lake) == ("bitcoin", "prices", str(folder / "lake"))
    app.view("mean", btc, by="currency", select={"mean": tb.mean("price")})
    events = [{"time": "2026-03-01T00:00:00Z", "currency": "EUR", "price": price} for price in (1, 2)]
    assert [str(row["mean"]) for row in run(app, {"btc": events})["mean"]] == ["1.5"]
    assert fingerprint(folder) == before


def test_a_definition_is_read_back_without_the_other_folder(tmp_path: Path) -> None:
    app = tb.App("report")
    prices = app.use("bitcoin/prices", folder=bitcoin(tmp_path))
    app.derive("cheap", prices, where="price < 10")
    app.view("n", prices, select={"n": tb.count()})
    (tmp_path / "store" / "catalog.db").unlink()
    again = tb.App.of(json.loads(json.dumps(app.definition())))
    assert again.streams == app.streams


def test_a_stream_that_is_derived_there_is_a_plain_one_here(tmp_path: Path) -> None:
    assert tb.App("report").use("bitcoin/dear", folder=bitcoin(tmp_path)).derived is None


def test_an_app_is_found_beside_the_file_that_uses_it_or_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "apps" / "report" / "report.py"
    file.parent.mkdir(parents=True)
    file.write_text("import tarnbeck as tb\napp = tb.App('report')\nprices = app.use('bitcoin/prices')\n")

    def found() -> str:
        return str(runpy.run_path(str(file))["prices"].owner.folder)

    with pytest.raises(DeclarationError) as wrong:
        found()
    assert f"    {tmp_path}/apps/bitcoin/.tarnbeck\n" in str(wrong.value)
    for place in ("apps/report/.tarnbeck", "apps/bitcoin/.tarnbeck", "data/bitcoin"):
        folder = bitcoin(tmp_path / place)
        if place.startswith("data"):
            monkeypatch.setenv(foreign.APPS, f"{tmp_path / 'none'}:{tmp_path / 'data'}")
        assert found() == str(folder)
    file.write_text(file.read_text().replace("prices')", "prices', folder='../bitcoin/.tarnbeck')"))
    assert found() == str(tmp_path / "apps/bitcoin/.tarnbeck")


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ({"stream": "prices"}, "expected app and stream"),
        ({"stream": "report/prices"}, "it is this app's own"),
        ({"stream": "bitcoin/prises"}, "did you mean 'prices'?"),
        ({"stream": "shop/orders"}, "holds app 'bitcoin', not app 'shop'"),
        ({"stream": "bitcoin/prices", "name": "Prices"}, "bad name"),
        ({"stream": "bitcoin/prices", "name": "own"}, "declared twice"),
        ({"stream": "bitcoin/prices", "folder": "nowhere"}, "no app has run in"),
    ],
)
def test_wrong_uses_are_refused(use: dict[str, Any], message: str, tmp_path: Path) -> None:
    app, given = tb.App("report"), {"folder": bitcoin(tmp_path), **use}
    app.stream("own", SCHEMA, time="time")
    with pytest.raises((DeclarationError, StoreError)) as wrong:
        app.use(given.pop("stream"), **given)
    assert message in str(wrong.value)


def test_a_stream_is_used_from_the_app_that_it_belongs_to(tmp_path: Path) -> None:
    report = tb.App("report")
    prices = report.use("bitcoin/prices", folder=bitcoin(tmp_path / "bitcoin"))
    store = SQLiteStore(tmp_path / "report" / "store", now)
    store.set_meta(foreign.APP, "report")
    store.register_stream("prices", json.dumps(of_stream(prices)), prices.topic, ORIGIN, LAKE)
    store.close()
    with pytest.raises(DeclarationError, match=r'app\.use\("bitcoin/prices"\)'):
        tb.App("third").use("report/prices", folder=tmp_path / "report")


def test_what_would_write_is_refused_and_says_where_to_do_it(tmp_path: Path) -> None:
    btc = tb.App("report").use("bitcoin/prices", name="btc", folder=bitcoin(tmp_path))
    with pytest.raises(UsageError, match=f"tarnbeck send prices --folder {tmp_path}"):
        Sender(NOWHERE, btc)
    with pytest.raises(UsageError, match="belongs to app 'bitcoin', which alone writes it"):
        correct(NOWHERE, btc, (0, 1, 0), changed={"price": "1"}, taken_back=(), reason="typo")


def test_a_used_stream_is_read_only_while_it_has_the_form_that_its_owner_reads_by(tmp_path: Path) -> None:
    prices = tb.App("report").use("bitcoin/prices", folder=bitcoin(tmp_path))
    assert foreign.unchanged(prices)
    store = SQLiteStore(tmp_path / "store", now)
    store.set_meta(foreign.GROWING, "prices")
    assert not foreign.unchanged(prices)
    store.set_meta(foreign.GROWING, "")
    assert foreign.unchanged(prices)
    there = tb.App.of({"name": "x", "streams": [json.loads(store.streams()["prices"].definition)], "views": []})
    old = there.streams["prices"]
    wide = tb.App("wide").stream("prices", SCHEMA.replace("18", "20"), time="time").schema
    grown = dataclasses.replace(old, schema=wide, former=(Former(old.schema, LAKE),))
    store.register_stream("prices", json.dumps(of_stream(grown)), old.topic, ORIGIN, LAKE)
    store.close()
    assert not foreign.unchanged(prices)
    assert foreign.unchanged(tb.App("report").use("bitcoin/prices", folder=tmp_path))


def test_the_log_of_the_other_app_is_needed_and_only_one(tmp_path: Path) -> None:
    prices = tb.App("report").use("bitcoin/prices", folder=bitcoin(tmp_path / "bitcoin"))
    with pytest.raises(LogError, match="app 'bitcoin' does not run") as wrong:
        shared(tmp_path / "report", [prices])
    assert f"--folder {tmp_path / 'bitcoin'}" in str(wrong.value)
    (tmp_path / "report" / "kafka").mkdir(parents=True)
    with pytest.raises(LogError, match="has a log of its own"):
        shared(tmp_path / "report", [prices])
    assert shared(tmp_path / "report", [tb.App("a").stream("b", SCHEMA, time="time")]) is None
