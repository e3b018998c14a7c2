"""What the speed layer feeds when another app's stream grows: nothing by an old form, and all the rest as before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

import tarnbeck as tb
from tarnbeck.errors import DeclarationError, StoreError
from tarnbeck.log.broker import Broker
from tarnbeck.node import use
from tarnbeck.node.grow import grow
from tarnbeck.node.register import register
from tarnbeck.serve.clock import now
from tarnbeck.spark.supervised import Moved
from tarnbeck.speed.layer import _Speed
from tarnbeck.store.definitions import used
from tarnbeck.store.foreign import GROWING
from tarnbeck.store.protocol import SPEED
from tarnbeck.store.sqlite import SQLiteStore

pytestmark = pytest.mark.broker


def shop(topic: str, kind: str) -> tb.App:
    app = tb.App("shop")
    app.stream("orders", f"time timestamp, n {kind}", time="time", topic=topic, partitions=1)
    return app


def report(folder: Path, topic: str, *views: str) -> tb.App:
    app = tb.App("report")
    sources = {
        "orders": app.use("shop/orders", folder=folder),
        "own": app.stream("own", "time timestamp", time="time", topic=f"{topic}-own"),
    }
    declared: dict[str, Any] = {
        "largest": ("orders", {"largest": tb.max("n")}),
        "seen": ("orders", {"n": tb.count()}),
        "mine": ("own", {"n": tb.count()}),
    }
    for name in views:
        source, select = declared[name]
        app.view(name, sources[source], select=select)
    return app


def test_versions_that_do_not_fit_stand_still_until_they_are_dropped_and_others_are_fed(
    broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic, log = unique("orders"), broker.settings
    theirs, ours = (SQLiteStore(tmp_path / app / "store", now) for app in ("shop", "report"))
    register(shop(topic, "int"), theirs, log)
    register(report(tmp_path / "shop", topic, "largest", "seen", "mine"), ours, log)
    speed = _Speed(log, ours, ours.take_token(SPEED), lambda _: None, cast("Any", None))
    assert set(speed.starts()) == {topic, f"{topic}-own"}

    theirs.set_meta(GROWING, "orders")
    with pytest.raises(StoreError, match="nothing is read until that is taken over"):
        speed.starts()
    grow(shop(topic, "double"), theirs, log)
    assert set(speed.starts()) == {f"{topic}-own"}
    (state,) = used(ours.streams())
    with pytest.raises(DeclarationError, match="version 1 of view 'largest' keeps its values in another form"):
        use.follow(log, ours, state)

    still, without = (report(tmp_path / "shop", topic, *views) for views in (("seen", "mine"), ("mine",)))
    for start in (grow, register):
        with pytest.raises(DeclarationError, match="take it under a new name"):
            start(still, ours, log)
    assert "stays as it was until its views are dropped" in grow(without, ours, log)[0]
    register(without, ours, log)
    ours.drop_view("largest")
    use.follow(log, ours, state)
    with pytest.raises(Moved, match="seen can be fed again"):
        speed._fed(ours.streams())
    assert set(speed.starts()) == {topic, f"{topic}-own"}


def test_two_names_for_one_stream_are_read_from_the_lower_cut(
    broker: Broker, tmp_path: Path, unique: Callable[[str], str]
) -> None:
    topic, log = unique("orders"), broker.settings
    theirs, ours = (SQLiteStore(tmp_path / app / "store", now) for app in ("shop", "report"))
    register(shop(topic, "int"), theirs, log)
    app = tb.App("report")
    for name in ("a", "b"):
        source = app.use("shop/orders", name=name, folder=tmp_path / "shop")
        app.view(f"of_{name}", source, select={"n": tb.count()})
    register(app, ours, log)
    speed = _Speed(log, ours, ours.take_token(SPEED), lambda _: None, cast("Any", None))
    assert speed.starts() == {topic: {0: 0}}
