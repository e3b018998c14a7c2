from __future__ import annotations

import os
import signal
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from tarnbeck.cut import Cut
from tarnbeck.errors import LogError
from tarnbeck.log import client as clients
from tarnbeck.log import topics
from tarnbeck.log.broker import Broker
from tarnbeck.log.settings import LogSettings
from tests.log.declared import stream
from tests.waiting import awaited

pytestmark = pytest.mark.broker


def make(broker: Broker, name: str, partitions: int = 2, **config: str) -> None:
    topic = NewTopic(name, partitions, 1, config={key.replace("_", "."): value for key, value in config.items()})
    client = AdminClient(broker.settings.client())
    client.create_topics([topic])[name].result()
    awaited(lambda: name in topics.describe(broker.settings, [name]), "the topic is there")


def test_a_missing_topic_is_made_once_with_the_declared_partitions(broker: Broker, topic_name: str) -> None:
    made = topics.ensure(broker.settings, stream(topic_name, partitions=3))
    assert made.partitions == 3
    assert topics.ensure(broker.settings, stream(topic_name, partitions=3)) == made
    assert topics.describe(broker.settings, [topic_name, "no-such-topic"]) == {topic_name: made}


def test_a_missing_topic_that_may_not_be_made_is_refused(broker: Broker, topic_name: str) -> None:
    with pytest.raises(LogError) as error:
        topics.ensure(broker.settings, stream(topic_name, create=False))
    assert f"stream 'prices': no topic '{topic_name}' at {broker.address}" in str(error.value)
    assert "declare the stream with create=True" in str(error.value)


@pytest.mark.parametrize("create", [True, False])
def test_other_partitions_than_declared_are_refused_with_both_numbers(
    broker: Broker, topic_name: str, create: bool
) -> None:
    make(broker, topic_name, 4)
    with pytest.raises(LogError, match=f"topic '{topic_name}' doesn't fit the declaration") as error:
        topics.ensure(broker.settings, stream(topic_name, partitions=2, create=create))
    assert "partitions: declared 2, the topic has 4; declare partitions=4" in str(error.value)


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
def test_a_compacted_topic_is_refused_with_its_policy(broker: Broker, topic_name: str, policy: str) -> None:
    make(broker, topic_name, 2, cleanup_policy=policy)
    with pytest.raises(LogError, match=f"cleanup.policy: expected delete, the topic has {policy}"):
        topics.ensure(broker.settings, stream(topic_name))


def test_all_that_does_not_fit_is_shown_at_once(broker: Broker, topic_name: str) -> None:
    make(broker, topic_name, 1, cleanup_policy="compact")
    with pytest.raises(LogError, match=r"partitions: declared 2(.|\n)*cleanup.policy"):
        topics.ensure(broker.settings, stream(topic_name))


def test_a_topic_that_was_made_again_has_another_id(broker: Broker, topic_name: str) -> None:
    first = topics.ensure(broker.settings, stream(topic_name))
    client = AdminClient(broker.settings.client())
    client.delete_topics([topic_name])[topic_name].result()
    # The controller answers before the broker that is asked next has heard of it.
    awaited(lambda: not topics.describe(broker.settings, [topic_name]), "the topic is gone")
    assert topics.ensure(broker.settings, stream(topic_name)).id != first.id


def test_beginning_and_end_are_cuts_of_the_topics_id(broker: Broker, topic_name: str) -> None:
    made = topics.ensure(broker.settings, stream(topic_name))
    assert topics.beginning(broker.settings, topic_name) == Cut.of(made.id, {})
    producer = Producer(broker.settings.client())
    for partition in (0, 1, 1):
        producer.produce(topic_name, b"x", partition=partition)
    producer.flush()
    assert topics.end(broker.settings, topic_name) == Cut.of(made.id, {0: 1, 1: 2})


def test_both_ends_are_asked_of_a_client_that_is_kept(
    broker: Broker, topic_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = topics.ensure(broker.settings, stream(topic_name))
    kept = []

    def making(*given: Any) -> AdminClient:
        kept.append(given)
        return AdminClient(*given)

    monkeypatch.setattr(clients, "AdminClient", making)
    for count in range(3):
        assert topics.ends(broker.settings, topic_name, 10.0) == (Cut.of(made.id, {}), Cut.of(made.id, {0: count}))
        producer = Producer(broker.settings.client())
        producer.produce(topic_name, b"x", partition=0)
        producer.flush()
    assert len(kept) <= 1


def test_a_broker_that_does_not_answer_in_time_is_told(
    broker: Broker, topic_name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    topics.ensure(broker.settings, stream(topic_name))
    began = time.monotonic()
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        with pytest.raises(LogError, match=f"can't read the offsets of topic '{topic_name}'"):
            topics.ends(broker.settings, topic_name, 0.5)
    finally:
        os.kill(broker.pid, signal.SIGCONT)
    assert time.monotonic() - began < 4
    assert topics.ends(broker.settings, topic_name, 10.0)[1].offsets == ()
    assert capfd.readouterr().err == ""


def test_the_end_is_the_last_stable_offset_while_a_transaction_is_open(broker: Broker, topic_name: str) -> None:
    made = topics.ensure(broker.settings, stream(topic_name))
    producer = Producer({**broker.settings.client(), "transactional.id": topic_name})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic_name, b"x", partition=0)
    producer.flush()
    assert topics.end(broker.settings, topic_name) == Cut.of(made.id, {})
    producer.commit_transaction()
    # The coordinator answers when the commit is certain, and marks the partitions afterwards.
    awaited(lambda: topics.end(broker.settings, topic_name) != Cut.of(made.id, {}), "the commit's mark")
    assert topics.end(broker.settings, topic_name) == Cut.of(made.id, {0: 2})


def test_a_time_gives_the_first_record_not_older_and_else_the_end(broker: Broker, topic_name: str) -> None:
    made = topics.ensure(broker.settings, stream(topic_name))
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    producer = Producer(broker.settings.client())
    for minute in range(3):
        moment = noon + timedelta(minutes=minute)
        producer.produce(topic_name, b"x", partition=0, timestamp=int(moment.timestamp() * 1000))
    producer.flush()
    at = {
        minute: topics.at_time(broker.settings, topic_name, noon + timedelta(minutes=minute)) for minute in (-1, 1, 9)
    }
    assert at == {-1: Cut.of(made.id, {}), 1: Cut.of(made.id, {0: 1}), 9: Cut.of(made.id, {0: 3})}


def test_the_offsets_of_a_missing_topic_are_refused(broker: Broker) -> None:
    with pytest.raises(LogError, match="log: no topic 'no-such-topic'"):
        topics.end(broker.settings, "no-such-topic")


def test_an_address_where_nobody_answers_is_told_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(topics, "TIMEOUT", 1.0)
    with pytest.raises(LogError, match=r"log: can't describe topics at 127.0.0.1:9(.|\n)*Connection refused"):
        topics.describe(LogSettings("127.0.0.1:9"), ["x"])
    assert capfd.readouterr().err == ""
