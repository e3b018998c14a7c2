"""Clients of a folder and of a server give the same answers and the same errors."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import tarnbeck as tb
from tarnbeck.errors import LogError, NotReady, TarnbeckError, UsageError
from tarnbeck.log.lines import Line
from tarnbeck.log.produce import Failure, Offsets, Sent
from tarnbeck.schema import cells
from tarnbeck.schema.stream import Stream
from tarnbeck.serve.client import Client, connect, control
from tarnbeck.serve.clock import now
from tarnbeck.serve.http import Server, application, serve
from tarnbeck.store.sqlite import SQLiteStore
from tests.serve.sample import BEGIN, Event, cut_after, feed, filled, random_events


class Counter:
    """A log that gives out offsets, and refuses what says so."""

    def __init__(self) -> None:
        self.next, self.values = 0, list[bytes]()

    def __call__(self, stream: Stream) -> _Counting:
        return _Counting(self)


class _Counting:
    def __init__(self, log: Counter) -> None:
        self._log, self._lines = log, list[Line]()

    def send_line(self, line: Line) -> None:
        self._lines.append(line)

    pack_line = send_line

    def pack_table(self, table: pa.Table) -> None:
        for number, value in enumerate(cells.objects(table), 1):
            self.send_line(Line(f"row {number}", value))

    def flush(self) -> Sent:
        taken = [line.value for line in self._lines if b"refuse" not in line.value]
        refused = [line for line in self._lines if b"refuse" in line.value]
        first = self._log.next
        self._log.next += len(taken)
        self._log.values += taken
        failures = (Failure("timed out", len(refused), refused[0].place),) if refused else ()
        return Sent(len(taken), failures, (Offsets(0, first, self._log.next - 1),) if taken else ())


class Steward:
    def status(self) -> dict[str, Any]:
        return {"parts": [], "app": "shop"}

    def run(self, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield {"step": 1}
        if "fail" in job:
            yield {"error": {"kind": "UsageError", "message": "no"}}
        else:
            yield {"result": job}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, app: tb.App, events: list[Event]) -> Path:
    made = tmp_path_factory.mktemp("client")
    filled(made / "store", app, events).close()
    return made


@pytest.fixture(scope="module")
def log() -> Counter:
    return Counter()


@pytest.fixture(scope="module")
def server(folder: Path, log: Counter) -> Iterator[Server]:
    store = SQLiteStore(folder / "store", now)
    running = serve(application(store, sender=log, control=Steward(), token="t"), "127.0.0.1", 0)  # noqa: S106
    yield running
    running.stop()
    store.close()


@pytest.fixture(params=["folder", "url"])
def client(request: pytest.FixtureRequest, folder: Path, server: Server) -> Iterator[Client]:
    with connect(folder if request.param == "folder" else server.url) as opened:
        yield opened


def test_a_view_is_asked_by_keys_and_range(client: Client, events: list[Event]) -> None:
    given = client.query("by_time", item="pear", per="hour", since="2026-03-01", until=BEGIN + datetime.timedelta(1))
    assert [row["orders"] for row in given] == [sum(event["item"] == "pear" for event in events)]
    assert given.rows[0][1] == BEGIN
    assert given.cut == cut_after(events)
    assert given.level == "hour"
    assert isinstance(given.dicts()[0]["turnover"], Decimal)


def test_both_kinds_of_client_give_the_same(folder: Path, server: Server) -> None:
    with connect(folder) as near, connect(server.url) as far:
        for view in ("by_time", "by_shop", "total"):
            assert near.query(view, limit=50) == far.query(view, limit=50)
            assert near.query(view).arrow() == far.query(view).arrow()
        text = "select * from by_shop order by all"
        assert near.sql(text).table == far.sql(text).table
        assert near.sql(text).cuts == far.sql(text).cuts
        assert near.views() == far.views()


def test_keys_can_be_null_or_given_as_a_mapping(client: Client, events: list[Event]) -> None:
    (row,) = client.query("total", item=None)
    assert row["orders"] == sum(event["item"] is None for event in events)
    assert (
        client.query("by_shop", keys={"item": "pear"}, shop=2).dicts()
        == client.query("by_shop", item="pear", shop="2").dicts()
    )


def test_last_counts_from_now(client: Client) -> None:
    assert len(client.query("by_time", last="1h")) == 0


def test_an_answer_becomes_a_data_frame(client: Client) -> None:
    frame = client.query("total").pandas()
    assert list(frame.columns)[:2] == ["item", "orders"]
    assert frame["orders"].sum() == sum(row["orders"] for row in client.sql("select orders from total"))


@pytest.mark.parametrize("view", ["nothing", "a b?c=d&e#f"])
def test_an_unknown_view_is_a_usage_error(client: Client, view: str) -> None:
    with pytest.raises(UsageError, match="unknown view"):
        client.query(view)


def test_mistakes_are_the_same_errors_near_and_far(client: Client) -> None:
    with pytest.raises(UsageError, match="did you mean 'item'"):
        client.query("total", itm=5)
    with pytest.raises(UsageError, match="only to read"):
        client.sql("drop table total")
    with pytest.raises(UsageError, match="bad wait"):
        client.query("total", wait=-1)
    with pytest.raises(UsageError, match="bad limit"):
        client.sql("select 1", limit=0)


def test_a_view_that_lags_is_not_ready_near_and_far(tmp_path: Path, app: tb.App) -> None:
    events = random_events(70)
    store = filled(tmp_path / "store", app, events[:60])
    feed(store, app, events[:60], events[60:], views=["total"])
    running = serve(application(store), "127.0.0.1", 0)
    for where in (tmp_path, running.url):
        with connect(where) as client, pytest.raises(NotReady, match="it lags"):
            client.sql("select 1 from total, by_time", wait=0)
    running.stop()
    store.close()


def test_a_client_far_away_sends_in_packs_and_tells_the_offsets(
    server: Server, log: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tarnbeck.serve import remote

    monkeypatch.setattr(remote, "PACK", 100)
    before = log.next
    with connect(server.url) as client:
        sent = client.send("orders", ({"time": BEGIN, "item": "pear", "price": Decimal("1.10")} for _ in range(10)))
    assert sent == Sent(10, (), (Offsets(0, before, before + 9),))
    assert log.values[-1] == b'{"time":"2026-03-01T10:00:00.000000Z","item":"pear","price":1.10}'


def test_a_table_goes_with_the_digits_that_it_has(
    server: Server, log: Counter, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tarnbeck.serve import remote

    monkeypatch.setattr(remote, "PACK", 100)
    table = pa.table(
        {
            "time": pa.array([BEGIN] * 10, pa.timestamp("ms", "Europe/Berlin")),
            "item": pa.array(["pear"] * 10).dictionary_encode(),
            "price": pa.array([Decimal("1.1")] * 10, pa.decimal128(5, 1)),
            "note": ["unheard of", *[None] * 9],
        }
    )
    node = folder / "node.json"
    node.write_text(json.dumps({"url": server.url}))
    try:
        for where in (server.url, folder):
            before = log.next
            with connect(where) as client:
                assert client.send("orders", table) == Sent(10, (), (Offsets(0, before, before + 9),))
                with pytest.raises(UsageError, match=r"row 2 can't be sent: time: missing\n  declared: time"):
                    client.send("orders", pa.table({"time": pa.array([BEGIN, None]), "item": ["a", "b"]}))
            first = b'{"time":"2026-03-01T10:00:00.000000Z","item":"pear","price":1.10,"note":"unheard of"}'
            assert log.values[-10:] == [first, *[first.replace(b',"note":"unheard of"', b"")] * 9]
    finally:
        node.unlink()


def test_what_was_not_taken_is_told(server: Server) -> None:
    with connect(server.url) as client:
        sent = client.send("orders", [{"time": BEGIN, "item": "refuse"}, {"time": BEGIN, "item": "pear"}])
        assert (sent.acknowledged, sent.failed) == (1, 1)
        with pytest.raises(UsageError, match="did you mean 'orders'"):
            client.send("order", [])
        with pytest.raises(UsageError, match="column 'item': expected text"):
            client.send("orders", [{"time": BEGIN, "item": 5}])


def test_a_folder_sends_through_the_node_that_runs_there(folder: Path, server: Server, log: Counter) -> None:
    node = folder / "node.json"
    node.write_text(json.dumps({"url": server.url}))
    try:
        with connect(folder) as client:
            assert client.send("orders", [{"time": BEGIN, "item": "plum"}]).acknowledged == 1
    finally:
        node.unlink()
    assert b"plum" in log.values[-1]


def test_a_folder_without_a_log_says_so(folder: Path, store: SQLiteStore) -> None:
    gone = serve(application(store), "127.0.0.1", 0)
    gone.stop()
    node = folder / "node.json"
    node.write_text(json.dumps({"url": gone.url}))
    try:
        with connect(folder) as client, pytest.raises(LogError, match="no log runs"):
            client.send("orders", [{"time": BEGIN}])
    finally:
        node.unlink()


def test_a_folder_without_an_application_is_refused_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no tarnbeck in"):
        connect(tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("url", ["ftp://localhost", "http://", "http:///x"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="bad address"):
        connect(url)


def test_a_server_that_does_not_answer_is_told(server: Server) -> None:
    with connect("http://127.0.0.1:9") as client, pytest.raises(LogError, match="is tarnbeck running there"):
        client.views()


def test_a_connection_that_the_server_closed_is_opened_again(folder: Path) -> None:
    store = SQLiteStore(folder / "store", now)
    first = serve(application(store), "127.0.0.1", 0)
    client = connect(first.url)
    assert len(client.views()) == 3
    first.stop()
    second = serve(application(store), "127.0.0.1", first.port)
    assert len(client.views()) == 3
    client.close()
    second.stop()
    store.close()


def test_a_node_is_controlled_from_afar(server: Server) -> None:
    far = control(server.url, "t")
    assert far.status()["app"] == "shop"
    assert list(far.run({"do": "x"})) == [{"step": 1}, {"result": {"do": "x"}}]
    assert list(far.run({"fail": 1}))[-1] == {"error": {"kind": "UsageError", "message": "no"}}
    with pytest.raises(TarnbeckError, match="token"):
        control(server.url, "wrong").status()
    with pytest.raises(TarnbeckError, match="token"):
        list(control(server.url, "wrong").run({}))
