from __future__ import annotations

from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tarnbeck.cut import Cut
from tarnbeck.errors import LogError, UsageError
from tarnbeck.log import topics
from tarnbeck.log.broker import Broker
from tarnbeck.log.follow import AtOffsets, AtTime, Earliest, Latest, Start, follow
from tarnbeck.log.produce import Sender
from tests.log.declared import stream
from tests.waiting import awaited

pytestmark = pytest.mark.broker


@pytest.fixture
def filled(broker: Broker, topic_name: str) -> str:
    """A topic with values 0:0, 0:1, 0:2 and 1:0, 1:1."""
    topics.ensure(broker.settings, stream(topic_name))
    with Sender(broker.settings, stream(topic_name)) as sender:
        for partition, count in ((0, 3), (1, 2)):
            for offset in range(count):
                sender.send(b"%d:%d" % (partition, offset), partition=partition)
    return topic_name


def values(broker: Broker, topic: str, start: Start | Cut, until: Cut | None = None) -> list[bytes | None]:
    end = until or topics.end(broker.settings, topic)
    return sorted((record.value for record in follow(broker.settings, topic, start, until=end)), key=lambda v: v or b"")


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (Earliest(), [b"0:0", b"0:1", b"0:2", b"1:0", b"1:1"]),
        (Latest(), []),
        (AtOffsets(everywhere=1), [b"0:1", b"0:2", b"1:1"]),
        (AtOffsets(((0, 2),)), [b"0:2"]),
        (AtTime(datetime(2020, 1, 1, tzinfo=UTC)), [b"0:0", b"0:1", b"0:2", b"1:0", b"1:1"]),
        (AtTime(datetime(2100, 1, 1, tzinfo=UTC)), []),
    ],
)
def test_reading_begins_where_it_was_told(broker: Broker, filled: str, start: Start, expected: list[bytes]) -> None:
    assert values(broker, filled, start) == expected


def test_a_bounded_read_takes_exactly_the_span_between_two_cuts(broker: Broker, filled: str) -> None:
    topic = topics.end(broker.settings, filled).topic
    found = values(broker, filled, Cut.of(topic, {0: 1}), Cut.of(topic, {0: 2, 1: 1}))
    assert found == [b"0:1", b"1:0"]


def test_a_read_of_nothing_finishes_at_once(broker: Broker, filled: str) -> None:
    end = topics.end(broker.settings, filled)
    assert list(follow(broker.settings, filled, end, until=end)) == []


def test_following_sees_what_is_sent_later_and_ends_when_told(broker: Broker, filled: str) -> None:
    seen: list[bytes | None] = []
    with Sender(broker.settings, stream(filled)) as sender:
        sent_late = False
        for record in follow(broker.settings, filled, Earliest(), stop=lambda: len(seen) == 6):
            seen.append(record.value)
            if not sent_late:
                sent_late = True
                sender.send(b"late", partition=1)
                sender.flush()
    assert b"late" in seen


def test_aborted_records_are_never_seen_and_a_bounded_read_still_finishes(broker: Broker, topic_name: str) -> None:
    topics.ensure(broker.settings, stream(topic_name))
    producer = Producer({**broker.settings.client(), "transactional.id": topic_name})
    producer.init_transactions()
    for value, finish in ((b"kept", producer.commit_transaction), (b"aborted", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic_name, value, partition=0)
        producer.flush()
        finish()
    # The coordinator answers when the outcome is certain, and marks the partitions afterwards.
    awaited(lambda: topics.end(broker.settings, topic_name)[0] == 4, "the marks of both transactions")
    assert values(broker, topic_name, Earliest()) == [b"kept"]


def test_a_partition_that_does_not_exist_is_refused(broker: Broker, filled: str) -> None:
    with pytest.raises(UsageError, match=r"has no partition 7\n  it has 0 to 1"):
        values(broker, filled, AtOffsets(((7, 0),)))


def test_a_cut_of_another_topic_is_refused(broker: Broker, filled: str) -> None:
    with pytest.raises(LogError, match="is not the one that was read before"):
        list(follow(broker.settings, filled, Cut.of("another", {0: 1}), stop=lambda: True))


def test_a_cut_below_what_the_log_still_holds_is_an_error_and_not_a_silent_gap(broker: Broker, filled: str) -> None:
    client = AdminClient(broker.settings.client())
    for future in client.delete_records([TopicPartition(filled, 0, 2)]).values():
        future.result()
    begin = Cut.of(topics.end(broker.settings, filled).topic, {})
    with pytest.raises(LogError, match=f"can't read topic '{filled}'"):
        values(broker, filled, begin)
    assert values(broker, filled, Earliest()) == [b"0:2", b"1:0", b"1:1"]
