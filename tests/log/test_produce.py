from __future__ import annotations

import json
import random
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tarnbeck.errors import LogError, UsageError
from tarnbeck.log import pack, produce, topics
from tarnbeck.log.broker import Broker
from tarnbeck.log.follow import Earliest, Record, follow
from tarnbeck.log.lines import Line
from tarnbeck.log.pack import key_of
from tarnbeck.log.produce import Failure, Offsets, Sender, Sent, send_events, send_lines
from tarnbeck.log.settings import LogSettings
from tarnbeck.schema.encode import to_json
from tests.log.declared import stream


def stored(broker: Broker, topic: str) -> list[Record]:
    return list(follow(broker.settings, topic, Earliest(), until=topics.end(broker.settings, topic)))


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (b'{"currency":"EUR","price":1}', b"EUR"),
        (b'{"currency":7}', b"7"),
        (b'{"currency":["a", 1]}', b'["a",1]'),
        (b'{"currency":null}', None),
        (b'{"price":1}', None),
        (b"[1]", None),
        (b"not json", None),
        (b"\xff", None),
        (b"[" * 100_000, None),
    ],
)
def test_the_key_is_the_text_of_the_key_column(value: bytes, key: bytes | None) -> None:
    assert key_of(stream(), value) == key


def test_a_stream_without_key_column_gives_no_key() -> None:
    assert key_of(stream(key=None), b'{"currency":"EUR"}') is None


@pytest.mark.broker
def test_what_was_sent_is_read_back_at_the_offsets_that_were_told(broker: Broker, topic_name: str) -> None:
    topics.ensure(broker.settings, stream(topic_name))
    moment = datetime(2026, 1, 31, 12, 0, 0, 5000, tzinfo=UTC)
    with Sender(broker.settings, stream(topic_name)) as sender:
        sender.send(b"a", b"k", moment, partition=1)
        sender.send(b"b", partition=1)
        sender.send(b"c", partition=0)
        sent = sender.flush()
    assert sent == Sent(3, (), (Offsets(0, 0, 0), Offsets(1, 0, 1)))
    found = {(record.partition, record.offset): record for record in stored(broker, topic_name)}
    assert found[1, 0] == Record(1, 0, moment, b"k", b"a")
    assert (found[1, 1].value, found[0, 0].value, found[0, 0].key) == (b"b", b"c", None)


@pytest.mark.broker
def test_each_flush_tells_only_what_was_sent_since_the_last(broker: Broker, topic_name: str) -> None:
    topics.ensure(broker.settings, stream(topic_name))
    with Sender(broker.settings, stream(topic_name)) as sender:
        sender.send(b"a", partition=0)
        sender.flush()
        sender.send(b"b", partition=0)
        assert sender.flush() == Sent(1, (), (Offsets(0, 1, 1),))
        assert sender.flush() == Sent(0, (), ())


@pytest.mark.broker
def test_json_lines_arrive_untouched_and_equal_keys_share_a_partition(broker: Broker, topic_name: str) -> None:
    topics.ensure(broker.settings, stream(topic_name))
    lines = [b'{"currency": "%s", "price": 1.50}\n' % currency for currency in (b"EUR", b"USD", b"GBP") * 400]
    told: list[int] = []
    sent = send_lines(broker.settings, stream(topic_name), [*lines, b"\n", b"broken\n"], progress=told.append)
    assert (sent.acknowledged, sent.failed) == (1201, 0)
    assert (told[-1], told == sorted(told), len(told) > 1) == (1201, True, True)
    records = stored(broker, topic_name)
    assert sorted(record.value or b"" for record in records) == sorted([*(x.rstrip() for x in lines), b"broken"])
    places = {(record.key, record.partition) for record in records if record.key}
    assert len(places) == 3


@pytest.mark.broker
def test_csv_rows_arrive_as_json_and_bad_rows_are_told(broker: Broker, topic_name: str) -> None:
    topics.ensure(broker.settings, stream(topic_name))
    rows = [b"currency,price\n", b"EUR,1.50\n", b"x\n", b"y\n"]
    sent = send_lines(broker.settings, stream(topic_name), rows, format="csv")
    assert sent.acknowledged == 1
    assert sent.failures == (Failure("2 cells expected as in the header, 1 found", 2, "line 3"),)
    assert [record.value for record in stored(broker, topic_name)] == [b'{"currency":"EUR","price":1.50}']


@pytest.mark.broker
def test_python_events_arrive_as_exact_json(broker: Broker, topic_name: str) -> None:
    topics.ensure(broker.settings, stream(topic_name))
    event = {"time": datetime(2026, 1, 31, 12, tzinfo=UTC), "currency": "EUR", "price": Decimal("1.50")}
    assert send_events(broker.settings, stream(topic_name), [event]).acknowledged == 1
    (record,) = stored(broker, topic_name)
    assert record.key == b"EUR"
    found = json.loads(record.value or b"", parse_float=str)
    assert (found["currency"], found["price"]) == ("EUR", "1.50")
    assert datetime.fromisoformat(found["time"]) == event["time"]


@pytest.mark.broker
def test_events_before_one_that_can_not_be_sent_are_not_lost(broker: Broker, topic_name: str) -> None:
    topics.ensure(broker.settings, stream(topic_name))
    events: list[dict[str, object]] = [{"time": datetime(2026, 1, 31, tzinfo=UTC)}, {"time": object()}]
    with pytest.raises(UsageError, match="time"):
        send_events(broker.settings, stream(topic_name), events)
    assert len(stored(broker, topic_name)) == 1


@pytest.mark.broker
def test_more_than_the_queue_holds_waits_and_nothing_is_dropped(broker: Broker, topic_name: str) -> None:
    topics.ensure(broker.settings, stream(topic_name))
    small = Producer({**broker.settings.client(), "queue.buffering.max.messages": 10, "linger.ms": 5})
    with Sender(broker.settings, stream(topic_name), small) as sender:
        for _ in range(2000):
            sender.send(b"x")
        assert sender.flush().acknowledged == 2000


@pytest.mark.broker
def test_a_record_too_large_for_the_broker_is_told_and_not_silently_lost(broker: Broker, topic_name: str) -> None:
    topics.ensure(broker.settings, stream(topic_name))
    with Sender(broker.settings, stream(topic_name)) as sender:
        sender.send(b"x" * 9_000_000)
        sender.send(b"small")
        sent = sender.flush()
    assert (sent.acknowledged, sent.failed) == (1, 1)
    assert "too large" in sent.failures[0].reason
    assert sent.failures[0].first == "event 1"


@pytest.mark.broker
def test_leaving_the_block_raises_for_failures_that_nobody_asked_about(
    broker: Broker, topic_name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(produce, "GIVE_UP_MS", 300)
    with (
        pytest.raises(LogError, match=r"1 events were not taken\n  1 not sent: .* \(first: event 1\)"),
        Sender(broker.settings, stream(topic_name)) as sender,
    ):
        sender.send(b"x")
    assert capfd.readouterr().err == ""


def test_an_address_where_nobody_answers_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(produce, "TIMEOUT", 0.5)
    with pytest.raises(LogError, match=r"log: can't send at 127.0.0.1:9(.|\n)*Connection refused"):
        Sender(LogSettings("127.0.0.1:9"), stream())
    assert capfd.readouterr().err == ""


@pytest.mark.broker
def test_events_in_packs_stand_where_they_would_stand_alone(broker: Broker, topic_name: str) -> None:
    topics.ensure(broker.settings, stream(topic_name, partitions=5))
    currencies = ["EUR", "USD", "", "é", None, "a longer key than these"]
    events = [{"time": datetime(2026, 1, 31, tzinfo=UTC), "currency": each, "lots": 1} for each in 50 * currencies]
    texts = [to_json(stream(), event) for event in events]
    with Sender(broker.settings, stream(topic_name)) as sender:
        for number, text in enumerate(texts):
            sender.send_line(Line(f"line {number}", text))
            sender.pack_line(Line(f"line {number}", text))
        sender.pack_table(pa.Table.from_pylist(events))
        sent = sender.flush()
    assert (sent.acknowledged, sent.failed) == (3 * len(events), 0)
    found: dict[str, list[int]] = {}
    for record in stored(broker, topic_name):
        for text in record.events():
            found.setdefault(json.loads(text).get("currency", ""), []).append(record.partition)
    assert {key: (len(places), len(set(places))) for key, places in found.items() if key} == {
        key: (150, 1) for key in currencies if key
    }
    assert sum(len(places) for places in found.values()) == 3 * len(events)


@pytest.mark.broker
def test_packs_keep_below_their_limit_and_the_order_of_their_lines(broker: Broker, topic_name: str) -> None:
    topics.ensure(broker.settings, stream(topic_name, partitions=1))
    texts = [b'{"currency":"EUR","lots":%d,"x":"%s"}' % (number, b"x" * 100_000) for number in range(25)]
    texts[7] = b'{"currency":"EUR",\n"lots":7}'
    with Sender(broker.settings, stream(topic_name)) as sender:
        for number, text in enumerate(texts):
            sender.pack_line(Line(f"line {number}", text))
        sender.pack_line(Line("line 99", reason="not CSV"))
        sent = sender.flush()
    assert (sent.acknowledged, sent.failures) == (25, (Failure("not CSV", 1, "line 99"),))
    records = stored(broker, topic_name)
    assert [text for record in records for text in record.events()] == texts
    assert [len(record.events()) for record in records] == [7, 1, 9, 8]
    assert max(len(record.value or b"") for record in records) <= pack.FULL


@pytest.mark.broker
def test_a_pack_that_fails_tells_of_all_its_events(broker: Broker, topic_name: str) -> None:
    small, client = (
        NewTopic(topic_name, 1, 1, config={"max.message.bytes": "2000"}),
        AdminClient(broker.settings.client()),
    )
    client.create_topics([small])[topic_name].result()
    noise = random.Random(1)
    with Sender(broker.settings, stream(topic_name)) as sender:
        for number in range(100):
            sender.pack_line(Line(f"line {number + 1}", b'{"currency":"EUR","x":"%032x"}' % noise.getrandbits(128)))
        sent = sender.flush()
    assert (sent.acknowledged, sent.failed) == (0, 100)
    assert sent.failures[0].first == "100 events from line 1"
    assert "too large" in sent.failures[0].reason


@pytest.mark.broker
def test_a_table_is_cut_into_packs_and_a_row_too_large_is_told(broker: Broker, topic_name: str) -> None:
    topics.ensure(broker.settings, stream(topic_name, partitions=1))
    texts = ["x" * 300_000] * 7 + ["x" * 2_000_000] + ["y"] * 1000
    with Sender(broker.settings, stream(topic_name)) as sender:
        sender.pack_table(pa.table({"currency": ["EUR"] * 1008, "note": texts}))
        sent = sender.flush()
    assert (sent.acknowledged, sent.failures) == (1007, (Failure("larger than 1 MiB", 1, "row 8"),))
    records = stored(broker, topic_name)
    assert [json.loads(text)["note"] for record in records for text in record.events()] == texts[:7] + texts[8:]
    assert max(len(record.value or b"") for record in records) <= pack.FULL


@pytest.mark.broker
def test_a_topic_that_is_not_there_is_told_before_anything_is_packed(broker: Broker, topic_name: str) -> None:
    with Sender(broker.settings, stream(topic_name)) as sender, pytest.raises(LogError, match=topic_name):
        sender.pack_line(Line("line 1", b"{}"))
