"""What is appended when an event was wrong."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, TopicPartition

import tarnbeck as tb
from tarnbeck.errors import UsageError
from tarnbeck.log import topics
from tarnbeck.log.broker import Broker
from tarnbeck.log.correct import correct, corrections
from tarnbeck.log.produce import Sender
from tarnbeck.schema.stream import Stream
from tarnbeck.testing import memory

SCHEMA = "time timestamp, item string, price decimal(10,2), pieces int"
WRONG = b'{"time": "2026-03-01T09:00:10Z", "item": "tea", "price": 4.50, "pieces": 200, "note": "x"}'


def shop() -> tb.App:
    app = tb.App("shop")
    orders = app.stream(
        "orders", "time timestamp, item string, price decimal(10,2), pieces int", time="time", key="item"
    )
    total = {"pieces": tb.sum("pieces"), "turnover": tb.sum("price * pieces")}
    app.view("total", orders, by="item", select={**total, "last": tb.last("price")})
    return app


def orders(topic: str | None = None) -> Stream:
    return tb.App("shop").stream("orders", SCHEMA, time="time", key="item", topic=topic)


def test_what_is_taken_back_and_what_is_right_make_sums_as_if_the_event_had_been_right() -> None:
    appended = corrections(orders(), WRONG, {"pieces": "2"}, ["pieces"])
    assert appended == [
        b'{"time":"2026-03-01T09:00:10Z","item":"tea","price":4.50,"pieces":-200,"note":"x"}',
        b'{"time":"2026-03-01T09:00:10Z","item":"tea","price":4.50,"pieces":2,"note":"x"}',
    ]
    right = memory.run(shop(), [appended[1]]).rows("total")
    assert memory.run(shop(), [WRONG, *appended]).rows("total") == right


def test_an_event_that_should_not_have_been_is_only_taken_back() -> None:
    appended = corrections(orders(), WRONG, {}, ["pieces"])
    (row,) = memory.run(shop(), [WRONG, *appended]).rows("total")
    assert (row["pieces"], row["turnover"]) == (0, 0)


def test_decimals_keep_every_digit_and_nothing_behind_the_sign_is_null() -> None:
    value = b'{"time": "2026-03-01T09:00:10Z", "price": -4.50}'
    assert corrections(orders(), value, {"item": "", "price": "4.80"}, ["price"]) == [
        b'{"time":"2026-03-01T09:00:10Z","price":4.50}',
        b'{"time":"2026-03-01T09:00:10Z","price":4.80,"item":null}',
    ]


@pytest.mark.parametrize(
    ("value", "changed", "taken_back", "message"),
    [
        (WRONG, {}, [], "say what is right"),
        (WRONG, {"prise": "1"}, [], "did you mean 'price'"),
        (WRONG, {}, ["item"], "is no number"),
        (WRONG, {"pieces": "many"}, [], "would not take it: pieces: expected int"),
        (b"broken", {"pieces": "1"}, [], "no event at this place"),
        (b'{"time": "2026-03-01T09:00:10Z", "price": "four"}', {"price": "4"}, [], "no event at this place"),
    ],
)
def test_what_can_not_be_corrected_is_told_and_nothing_is_sent(
    value: bytes, changed: dict[str, str], taken_back: list[str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        corrections(orders(), value, changed, taken_back)


@pytest.mark.broker
def test_corrections_are_appended_with_the_place_and_the_reason(broker: Broker, topic_name: str) -> None:
    stream = orders(topic_name)
    topics.ensure(broker.settings, stream)
    with Sender(broker.settings, stream) as sender:
        sender.send(WRONG, b"tea", partition=1)
    done = correct(broker.settings, stream, (1, 0, 0), changed={"pieces": "2"}, taken_back=["pieces"], reason="a typo")
    assert (done.wrong, len(done.appended), done.sent.acknowledged) == (WRONG, 2, 2)
    (place,) = done.sent.offsets
    consumer = Consumer({**broker.settings.client(), "group.id": "test"})
    consumer.assign([TopicPartition(topic_name, place.partition, place.last)])
    message = consumer.poll(20)
    consumer.close()
    assert message is not None
    assert message.headers() == [("tarnbeck-corrects", b"1:0:0"), ("tarnbeck-reason", b"a typo")]
    with pytest.raises(UsageError, match="there is no event at 1:99"):
        correct(broker.settings, stream, (1, 99, 0), changed={"pieces": "2"}, taken_back=[], reason="none")
