"""Notices arrive at real receivers: those that fail, hang, redirect, want passwords, or come back later."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tarnbeck as tb
from tarnbeck.alert import mail, webhook
from tarnbeck.alert.outcome import Refused, Undelivered
from tarnbeck.errors import SetupError
from tarnbeck.plan.destination import Email
from tests.alert.receivers import Post, hook, post
from tests.alert.shop import Watched, busy
from tests.waiting import awaited

OPS = "ops@example.com"
TOLD: dict[str, Any] = {
    "id": "house-hot-1-1",
    "app": "house",
    "rule": "hot",
    "state": "firing",
    "on": "view rooms",
    "when": "hottest > 60",
    "since": "2026-03-01T10:00:00Z",
    "at": "2026-03-01T10:02:00Z",
    "times": 1,
    "gone": False,
    "keys": {"room": "attic\r\nBcc: x@y"},
    "window": {"start": "2026-03-01T10:00:00Z", "end": "2026-03-01T10:01:00Z"},
    "values": {"hottest": 65.5},
    "cut": {"topic": "t", "offsets": {"0": 5}},
}


@contextmanager
def running(shop: Watched) -> Iterator[None]:
    """The layer with its couriers; looks are taken by the test, so that time moves as it is told."""
    stop = threading.Event()
    couriers = [threading.Thread(target=each.run, args=(stop,)) for each in shop.layer._couriers.values()]
    for thread in couriers:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for each in shop.layer._couriers.values():
            each.wake()
        for thread in couriers:
            thread.join()


def delivered(shop: Watched) -> list[tuple[str, str, int]]:
    notices = shop.shown()["history"]
    return [(notice["state"], each["state"], each["tries"]) for notice in notices for each in notice["deliveries"]]


def test_a_webhook_gets_json_with_an_id_that_stays_and_secrets_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "Bearer a secret")
    with hook() as receiver:
        to = tb.webhook(receiver.url, headers_env={"Authorization": "HOOK_TOKEN"})
        webhook.send(to, TOLD)
        assert receiver.got == [TOLD]
        (headers,) = receiver.headers
        assert (headers["authorization"], headers["idempotency-key"]) == ("Bearer a secret", TOLD["id"])
        assert headers["content-type"] == "application/json"
        monkeypatch.setenv("HOOK_URL", receiver.url)
        webhook.send(tb.webhook(url_env="HOOK_URL"), TOLD)
        assert len(receiver.got) == 2


def test_a_missing_secret_is_named_and_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOOK_TOKEN", raising=False)
    with hook() as receiver:
        with pytest.raises(SetupError, match="HOOK_TOKEN is not set"):
            webhook.send(tb.webhook(receiver.url, headers_env={"Authorization": "HOOK_TOKEN"}), TOLD)
        assert receiver.got == []


@pytest.mark.parametrize(
    ("status", "kind"), [(500, Undelivered), (401, Undelivered), (429, Undelivered), (404, Refused)]
)
def test_an_answer_that_is_no_success_is_told(status: int, kind: type[Exception]) -> None:
    with hook(status=status) as receiver, pytest.raises(Undelivered, match=f"answered {status}") as raised:
        webhook.send(tb.webhook(receiver.url), TOLD)
    assert type(raised.value) is kind


def test_a_redirect_is_not_followed() -> None:
    with hook() as elsewhere, hook(status=307, location=elsewhere.url) as receiver:
        with pytest.raises(Undelivered, match="which is not followed"):
            webhook.send(tb.webhook(receiver.url), TOLD)
        assert elsewhere.got == []


@pytest.mark.parametrize("options", [{"status": 0}, {"drip": True}], ids=["silent", "slow for ever"])
def test_a_receiver_that_hangs_is_cut_off(options: dict[str, Any]) -> None:
    began = time.monotonic()
    with hook(**options) as receiver, pytest.raises(Undelivered):
        webhook.send(tb.webhook(receiver.url, timeout="300 ms"), TOLD)
    assert time.monotonic() - began < 5


def test_nobody_listens() -> None:
    with pytest.raises(Undelivered, match="ConnectionRefusedError"):
        webhook.send(tb.webhook("http://127.0.0.1:9/hook"), TOLD)


def test_a_notice_that_is_too_large_is_refused_before_it_is_sent() -> None:
    with hook() as receiver, pytest.raises(Refused, match="expected at most"):
        webhook.send(tb.webhook(receiver.url), TOLD | {"values": {"all": "x" * 300_000}})
    assert receiver.got == []


def test_a_certificate_is_verified(pem: Path) -> None:
    with hook(pem) as receiver:
        webhook.send(tb.webhook(receiver.url, ca=str(pem)), TOLD)
        with pytest.raises(Undelivered, match="CERTIFICATE_VERIFY_FAILED"):
            webhook.send(tb.webhook(receiver.url), TOLD)
        assert len(receiver.got) == 1


def to_post(server: Post, to: Any = OPS, **options: Any) -> Email:
    return tb.email(to, server="127.0.0.1", port=server.port, sender="tarnbeck@example.com", **options)


def test_mail_goes_over_starttls_with_a_password_from_the_environment(
    pem: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMTP_PASSWORD", "a secret")
    with post(pem, auth=True) as server:
        people = [OPS, "boss@example.com"]
        to = to_post(server, people, user="alerts", password_env="SMTP_PASSWORD", ca=str(pem))  # noqa: S106
        for address in people:
            mail.send(to, address, TOLD)
    first, second = server.messages
    assert server.people == people
    assert (server.encrypted, server.logged_in) == ([True, True], ["alerts", "alerts"])
    assert (first["To"], first["From"]) == ("ops@example.com, boss@example.com", "tarnbeck@example.com")
    assert first["Subject"] == "firing: hot (room attic Bcc: x@y) in house"
    assert first["Bcc"] is None
    assert first["Message-ID"] == second["Message-ID"] == "<house-hot-1-1@tarnbeck>"
    body = first.get_content()
    assert "condition: hottest > 60 on view rooms" in body
    assert 'cut:       {"0":5}' in body


def test_mail_goes_over_tls_with_a_password_from_a_file(pem: Path, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("a secret\n")
    with post(pem, tls=True, auth=True) as server:
        mail.send(to_post(server, security="tls", user="alerts", password_file=str(secret), ca=str(pem)), OPS, TOLD)
        assert (server.encrypted, server.logged_in, len(server.messages)) == ([True], ["alerts"], 1)
        secret.write_text("wrong")
        with pytest.raises(Undelivered, match="535") as raised:
            mail.send(to_post(server, security="tls", user="alerts", password_file=str(secret), ca=str(pem)), OPS, TOLD)
        assert "wrong" not in str(raised.value)
        secret.write_text("geheimß")
        with pytest.raises(SetupError, match="characters that a login by SMTP can't have") as refused:
            mail.send(to_post(server, security="tls", user="alerts", password_file=str(secret), ca=str(pem)), OPS, TOLD)
        assert "ß" not in str(refused.value)


def test_mail_is_not_sent_where_the_certificate_is_not_trusted_or_encryption_is_missing(pem: Path) -> None:
    with post(pem) as server, pytest.raises(Undelivered, match="CERTIFICATE_VERIFY_FAILED"):
        mail.send(to_post(server), OPS, TOLD)
    with post() as plain:
        with pytest.raises(Undelivered, match="STARTTLS"):
            mail.send(to_post(plain), OPS, TOLD)
        mail.send(to_post(plain, security="none"), OPS, TOLD)
        assert len(plain.messages) == 1
    assert server.messages == []


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"answer": "451 later"}, Undelivered),
        ({"defer": OPS}, Undelivered),
        ({"answer": "554 no"}, Refused),
        ({"refuse": OPS}, Refused),
    ],
)
def test_mail_that_is_not_taken_is_told(options: dict[str, Any], kind: type[Exception]) -> None:
    with post(**options) as server, pytest.raises(Undelivered) as raised:
        mail.send(to_post(server, security="none"), OPS, TOLD)
    assert type(raised.value) is kind


def test_a_receiver_that_fails_and_recovers_gets_everything_once_and_in_order(tmp_path: Path) -> None:
    with hook(status=503) as receiver:
        shop = Watched(tmp_path, lambda app: busy(app, tb.webhook(receiver.url)))
        with running(shop):
            shop.order("pear", 20)
            shop.tick()
            awaited(lambda: len(receiver.got) > 1, "a second try")
            shop.order("pear", -15)
            shop.tick()
            receiver.status = 200
            awaited(lambda: delivered(shop)[0][1] == "sent", "the notice that it is over")
        taken = [told for told in receiver.got if told["state"] == "resolved"]
        assert len(taken) == 1
        assert len({told["id"] for told in receiver.got}) == 2
        (resolved, sent, tries), (firing, sent_too, tries_before) = delivered(shop)
        assert (resolved, sent, tries) == ("resolved", "sent", 1)
        assert (firing, sent_too, tries_before) == ("firing", "sent", len(receiver.got) - 1)
    assert len([line for line in shop.said if "it is tried again" in line]) == 1


def test_a_dead_receiver_holds_up_neither_others_nor_the_watch(tmp_path: Path) -> None:
    with hook(status=0) as dead, hook() as alive:
        to = (tb.webhook(dead.url, timeout="30 seconds"), tb.webhook(alive.url), tb.to_stream("alerts"))
        shop = Watched(tmp_path, lambda app: busy(app, to))
        with running(shop):
            shop.order("pear", 20)
            shop.tick()
            shop.order("pear", -15)
            shop.tick()
            awaited(lambda: alive.states == ["firing", "resolved"], "what the other receiver gets")
            awaited(lambda: len(shop.log.sent) == 2, "what the stream gets")
            dead.over.set()
    assert [(event["state"], event["keys"], event["values"]["pieces"]) for event in shop.log.sent] == [
        ("firing", {"item": "pear"}, "20"),
        ("resolved", {"item": "pear"}, "5"),
    ]


def test_what_a_restart_interrupts_goes_on_and_what_was_told_is_not_told_again(tmp_path: Path) -> None:
    with hook() as good, hook(status=500) as bad:
        to = (tb.webhook(good.url), tb.webhook(bad.url))
        shop = Watched(tmp_path, lambda app: busy(app, to))
        with running(shop):
            shop.order("pear", 20)
            shop.tick()
            awaited(lambda: bool(good.got) and len(bad.got) > 0, "the first tries")
        shop.restarted()
        bad.status = 200
        with running(shop):
            shop.tick(3)
            awaited(lambda: {each[1] for each in delivered(shop)} == {"sent"}, "the other delivery")
        assert len(good.got) == 1
        assert len({told["id"] for told in bad.got}) == 1


def test_an_address_that_has_to_wait_and_one_that_is_unknown_repeat_nothing_to_others(tmp_path: Path) -> None:
    people = [OPS, "boss@example.com", "gone@example.com", OPS]
    with post(defer="boss@example.com", refuse="gone@example.com") as server:
        shop = Watched(tmp_path, lambda app: busy(app, to_post(server, people, security="none", name="people")))
        with running(shop):
            shop.order("pear", 20)
            shop.tick()
            awaited(lambda: server.deferred > 1 and bool(server.people), "a second try, and the other address")
        shop.restarted()
        with running(shop):
            awaited(lambda: server.deferred > 3, "tries after the restart")
            assert server.people == [OPS]
            server.defer = None
            awaited(lambda: {each[1] for each in delivered(shop)} == {"sent", "failed"}, "the end of all tries")
    assert sorted(server.people) == ["boss@example.com", OPS]
    assert {message["To"] for message in server.messages} == {", ".join(people)}
    (notice,) = shop.shown()["history"]
    assert {each["destination"]: each["state"] for each in notice["deliveries"]} == {
        "people: boss@example.com": "sent",
        "people: gone@example.com": "failed",
        "people: ops@example.com": "sent",
    }


def test_what_is_refused_or_too_old_is_given_up_and_what_follows_goes_on(tmp_path: Path) -> None:
    with hook(status=410) as receiver:
        shop = Watched(tmp_path, lambda app: busy(app, tb.webhook(receiver.url)))
        with running(shop):
            shop.order("pear", 20)
            shop.tick()
            awaited(lambda: delivered(shop)[0][1] == "failed", "the refusal")
            receiver.status = 503
            shop.order("pear", -15)
            shop.tick()
            awaited(lambda: len(receiver.got) > 2, "a second try")
            shop.clock.turn("2 days")
            awaited(lambda: delivered(shop)[0][1] == "failed", "the end of all tries")
    assert [line for line in shop.said if "it is given up" in line]
    assert {outcome for _, outcome in shop.store.alerts.totals()} == {"failed", "retried"}
