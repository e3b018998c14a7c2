"""What a store keeps of alerts: states and notices change together, and what waits outlives the process."""

from __future__ import annotations

import pytest

from tarnbeck.store import alerts
from tarnbeck.store.protocol import AlertBook, Told
from tarnbeck.store.state import AlertState, Delivery
from tests.contract.stores import Case


def firing(keys: str, rule: str = "hot") -> AlertState:
    return AlertState(rule, keys, "firing", 5, 7, 1, "{}")


def told(*to: str, rule: str = "hot", state: str = "firing") -> Told:
    return Told(rule, state, lambda number: f'{{"id": {number}}}', to)


@pytest.fixture
def book(case: Case) -> AlertBook:
    case.store.alerts.declare({"hot": '{"when": "x > 1"}', "cold": "{}"}, ["a", "b"])
    return case.store.alerts


def test_states_change_and_end_and_another_process_sees_them(case: Case, book: AlertBook) -> None:
    book.change([firing('["attic"]'), firing('["cellar"]')], [], [])
    book.change([], [("hot", '["attic"]')], [])
    assert list(case.again().alerts.states()) == [firing('["cellar"]')]


def test_rules_that_are_declared_no_more_are_forgotten_with_their_states(case: Case, book: AlertBook) -> None:
    book.change([firing("[]"), firing("[]", "cold")], [], [])
    book.note("hot", "something")
    book.declare({"hot": "{}"}, [])
    assert [(rule.rule, rule.definition, rule.error) for rule in book.rules()] == [("hot", "{}", None)]
    assert list(book.states()) == [firing("[]")]


def test_what_stands_in_the_way_of_a_rule_is_kept_until_nothing_does(book: AlertBook) -> None:
    book.note("hot", "its view is building")
    assert {rule.rule: rule.error for rule in book.rules()} == {"cold": None, "hot": "its view is building"}
    book.note("hot", None)
    assert not any(rule.error for rule in book.rules())


def test_a_notice_waits_for_each_destination_until_it_was_told_or_given_up(case: Case, book: AlertBook) -> None:
    book.change([], [], [told("a", "b"), told("a", state="resolved")])
    assert [notice.id for notice in book.waiting("a", 10)] == [1, 2]
    case.now[0] = 2_000_000
    book.tried(1, "a", None, over=False)
    book.tried(1, "b", "timed out", over=False)
    book.tried(1, "b", "refused", over=True)
    book.tried(2, "a", "timed out", over=False)
    again = case.again().alerts
    assert [notice.id for notice in again.waiting("a", 10)] == [2]
    assert not again.waiting("b", 10)
    second, first = again.notices(10)
    assert (first.state, first.at, first.body) == ("firing", 1_000_000, '{"id": 1}')
    assert first.deliveries == (
        Delivery(1, "a", "sent", 1, 2_000_000, None),
        Delivery(1, "b", "failed", 2, 2_000_000, "refused"),
    )
    assert second.deliveries == (Delivery(2, "a", "waiting", 1, 2_000_000, "timed out"),)
    assert again.totals() == {
        ("a", "retried"): 1,
        ("a", "sent"): 1,
        ("a", "waiting"): 1,
        ("b", "failed"): 1,
        ("b", "retried"): 1,
    }


def test_what_waits_for_a_destination_that_is_declared_no_more_has_failed(book: AlertBook) -> None:
    book.change([], [], [told("a", "b")])
    book.declare({"hot": "{}"}, ["a"])
    (notice,) = book.notices(10)
    assert [(each.destination, each.state, each.error) for each in notice.deliveries] == [
        ("a", "waiting", None),
        ("b", "failed", "it is declared no more"),
    ]
    assert book.totals() == {("a", "waiting"): 1, ("b", "failed"): 1}


def test_states_and_notices_change_together_or_not_at_all(book: AlertBook) -> None:
    def broken(number: int) -> str:
        raise RuntimeError("no body")

    with pytest.raises(RuntimeError):
        book.change([firing("[]")], [], [told("a"), Told("hot", "firing", broken, ("a",))])
    assert not book.states()
    assert not book.notices(10)


def test_only_the_newest_notices_are_kept_and_what_waited_is_told_as_dropped(
    book: AlertBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts, "KEPT", 2)
    assert book.change([], [], [told("a", "b"), told("a"), told("a")]) == {"a": 1, "b": 1}
    assert [notice.id for notice in book.notices(10)] == [3, 2]
    assert book.totals() == {("a", "dropped"): 1, ("a", "waiting"): 2, ("b", "dropped"): 1}


def test_ids_of_notices_are_never_used_again(book: AlertBook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alerts, "KEPT", 0)
    book.change([], [], [told("a")])
    monkeypatch.setattr(alerts, "KEPT", 10)
    book.change([], [], [told("a")])
    assert [notice.id for notice in book.notices(10)] == [2]
