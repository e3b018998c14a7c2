"""The page in front of a node that runs: what flows, streams, quarantine, versions and health."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tarnbeck.node.running import running
from tests.cli.test_commands import Shell, running_example
from tests.page.conftest import Look

pytestmark = [pytest.mark.browser, pytest.mark.demo]

EVENT = '{"time":"%s","exchange":"kraken","currency":"EUR","price":%s,"volume":1.5}'


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    with running_example(tmp_path_factory.mktemp("page")) as shell:
        yield shell


@pytest.fixture
def page(shell: Shell, look: Look) -> Page:
    """A page that may change things, opened as `tarnbeck page` says."""
    return look(shell.run("page").strip())


def address(folder: Path) -> str:
    facts = running(folder)
    assert facts is not None
    return str(facts["url"])


def test_the_flow_shows_every_part_of_the_app(page: Page) -> None:
    for box in ("prices: stream", "log: Kafka topics", "lake:", "speed layer:", "batch layer:", "ohlc: version"):
        expect(page.get_by_role("link", name=re.compile(box))).to_be_visible()
    expect(page.get_by_role("link", name=re.compile(r"prices: stream, \d\d records"))).to_be_visible()
    expect(page.locator("#health")).to_have_text("all parts run")
    assert "token" not in page.url


def test_an_event_that_is_sent_is_seen_and_counted(shell: Shell, page: Page) -> None:
    page.goto(f"{address(shell.folder)}/#/streams/prices")
    expect(page.locator(".events li", has_text='"price":109.50')).to_have_count(1)
    page.get_by_label("event as JSON").fill("{")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("This is not JSON")
    page.get_by_label("event as JSON").fill(EVENT % ("2026-01-31T13:00:00Z", "1234.50"))
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("1 event acknowledged at")).to_be_visible()
    expect(page.locator(".events li").first).to_contain_text("1234.50")
    page.get_by_label("filter events").fill("1234.50")
    expect(page.locator(".events li")).to_have_count(1)
    page.goto(f"{address(shell.folder)}/#/view/total")
    expect(page.locator(".top .row", has_text="EUR")).to_be_visible()


def test_what_could_not_be_decoded_is_shown_with_its_reason_and_sent_again(shell: Shell, page: Page) -> None:
    page.goto(f"{address(shell.folder)}/#/streams/prices")
    page.get_by_role("button", name="Look").click()
    page.get_by_role("button", name="Show").first.click()
    expect(page.locator("section", has_text="Quarantine").locator("pre")).not_to_be_empty()
    assert Axe().run(page).response["violations"] == []
    page.get_by_role("button", name="Retry").first.click()
    page.get_by_role("button", name="Do it").click()
    expect(page.get_by_text("1 event sent again")).to_be_visible()


def test_a_version_is_built_verified_switched_to_and_back(shell: Shell, page: Page) -> None:
    page.goto(f"{address(shell.folder)}/#/versions")
    card = page.get_by_label("total", exact=True)
    card.get_by_role("button", name="Replay").click()
    page.get_by_role("button", name="Do it").click()
    expect(page.get_by_text(re.compile(r"total: \d+ records? in"))).to_be_visible(timeout=120_000)
    card.get_by_role("button", name="Verify").click()
    expect(page.get_by_text(re.compile("total: equal: .* of both versions are the same"))).to_be_visible(
        timeout=120_000
    )
    card.get_by_role("button", name="Switch to it").click()
    page.get_by_role("button", name="Cancel").click()
    expect(card.get_by_role("button", name="Roll back")).to_have_count(0)
    card.get_by_role("button", name="Switch to it").click()
    page.get_by_label("Reason, which is kept").fill("seen on the page")
    page.get_by_role("button", name="Do it").click()
    expect(card.get_by_text("seen on the page")).to_be_visible()
    card.get_by_role("button", name="Roll back").click()
    page.get_by_role("button", name="Do it").click()
    expect(page.get_by_text("total is rolled back")).to_be_visible()
    switches = shell.json("versions", "total")["views"][0]["switches"]
    assert [each["reason"] for each in switches] == ["seen on the page", ""]


def test_who_only_looks_can_change_nothing(shell: Shell, look: Look) -> None:
    page = look(f"{address(shell.folder)}/#/versions")
    expect(page.get_by_text("This page may look but not change")).to_be_visible()
    for button in page.get_by_role("button", name="Replay").all():
        expect(button).to_be_disabled()


def test_health_tells_of_every_part(shell: Shell, page: Page) -> None:
    page.goto(f"{address(shell.folder)}/#/health")
    for part in ("log", "lake", "speed", "batch", "serving"):
        expect(page.get_by_role("cell", name=part, exact=True)).to_be_visible()
    expect(page.locator(".pill.bad")).to_have_count(0)
