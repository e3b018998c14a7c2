"""What people do: without a mouse, with many tabs, in other time zones, while everything changes under their hands."""

from __future__ import annotations

import datetime
import re

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.page.conftest import Look, ago
from tests.page.market import Market
from tests.serve.web import TOKEN
from tests.waiting import awaited

pytestmark = pytest.mark.browser


@pytest.fixture
def busy(market: Market) -> Market:
    market.trade(*((ago(100 - i), item, "10.50") for i in range(90) for item in ("apple", "pear")))
    return market


def subscribers(market: Market) -> int:
    found = re.search(r"^tarnbeck_live_subscribers (\d+)", httpx.get(f"{market.server.url}/metrics").text, re.MULTILINE)
    assert found
    return int(found[1])


def hidden(page: Page, state: bool) -> None:
    """Tells the page that its tab is in the background, or is seen again."""
    page.evaluate(
        "(state) => { Object.defineProperty(document, 'hidden', { value: state, configurable: true });"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        state,
    )


def test_a_box_of_the_flow_keeps_the_focus_while_numbers_change(busy: Market, look: Look) -> None:
    page = look(f"{busy.server.url}/#/flow")
    box = page.get_by_role("link", name=re.compile("^total: version"))
    box.focus()
    busy.trade((ago(0), "apple", "11.00"))
    expect(box).to_have_attribute("aria-label", re.compile("cut 0:181"))
    expect(box).to_be_focused()


def test_whoever_chooses_by_keys_stays_at_the_choice(busy: Market, look: Look) -> None:
    page = look(f"{busy.server.url}/#/view/ohlc")
    page.get_by_label("Range").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_url(re.compile("last=1h"))
    expect(page.get_by_label("Range")).to_be_focused()
    expect(page.get_by_label("Range")).to_have_value("1h")


def test_a_range_can_be_written(busy: Market, look: Look) -> None:
    page = look(f"{busy.server.url}/#/view/ohlc?chart=table&per=second&key.item=apple")
    page.get_by_label("Range").select_option("custom")
    end = ago(50)
    page.get_by_label("From (UTC)").fill(f"{end - datetime.timedelta(seconds=10):%Y-%m-%dT%H:%M:%S}")
    page.get_by_label("From (UTC)").blur()
    page.get_by_label("To (UTC)").fill(f"{end:%Y-%m-%dT%H:%M:%S}")
    page.get_by_label("To (UTC)").blur()
    expect(page.locator("tbody tr")).to_have_count(10)


def test_the_table_keeps_its_place_while_rows_come(busy: Market, look: Look) -> None:
    page = look(f"{busy.server.url}/#/view/ohlc?chart=table&per=second")
    frame = page.locator(".scroll")
    expect(page.locator("tbody tr").nth(100)).to_be_attached()
    frame.evaluate("(element) => { element.scrollTop = 300; }")
    busy.trade((ago(0), "apple", "77.00"))
    expect(page.locator("tbody tr").first).to_contain_text("77")
    assert frame.evaluate("(element) => element.scrollTop") == 300


def test_the_way_to_the_content_leads_there(busy: Market, look: Look) -> None:
    page = look(f"{busy.server.url}/#/sql")
    page.get_by_label("SQL query").fill("select 42")
    page.get_by_role("link", name="Skip to content").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    expect(page.get_by_label("SQL query")).to_have_value("select 42")


def test_a_tab_that_nobody_sees_gives_its_connection_back(busy: Market, look: Look) -> None:
    page = look(f"{busy.server.url}/#/view/total")
    awaited(lambda: subscribers(busy) == 1, "the page follows")
    hidden(page, True)
    awaited(lambda: subscribers(busy) == 0, "it gives its connection back")
    busy.trade((ago(0), "apple", "11.00"))
    hidden(page, False)
    expect(page.locator(".facts .cut")).to_have_text("cut 0:181")
    assert subscribers(busy) == 1


def test_what_is_left_asks_no_more(busy: Market, look: Look) -> None:
    page = look(f"{busy.server.url}/#/view/ohlc?layers=on")
    awaited(lambda: subscribers(busy) == 1, "the page follows")
    page.get_by_role("link", name="Flow", exact=True).click()
    expect(page.locator("svg.flow")).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    awaited(lambda: subscribers(busy) == 0, "it is no longer followed")
    for _ in range(7):  # the flow is asked for every second, the batch layer was every five
        with page.expect_response(re.compile("/flow")):
            pass
    assert [url for url in asked if "/views/" in url] == []


def test_enter_does_what_was_asked_for_and_escape_does_not(busy: Market, look: Look) -> None:
    page = look(f"{busy.server.url}/#token={TOKEN}")
    page.goto(f"{busy.server.url}/#/versions")
    card = page.get_by_label("total", exact=True)
    replay = card.get_by_role("button", name="Replay")
    replay.click()
    assert Axe().run(page).response["violations"] == []
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("alert")).to_have_count(0)
    replay.click()
    page.get_by_label("Reason, which is kept").fill("by keys alone")
    page.keyboard.press("Enter")
    # This node can't replay, and says so: it was asked.
    expect(page.get_by_role("alert")).to_be_visible()
    expect(replay).to_be_enabled()


def test_a_new_line_is_no_completion(busy: Market, look: Look) -> None:
    page = look(f"{busy.server.url}/#/sql")
    query = page.get_by_label("SQL query")
    query.fill("")
    query.press_sequentially("select item from tot")
    expect(page.get_by_role("option", name="total")).to_be_visible()
    query.press("ArrowDown")
    query.press("Enter")
    query.press_sequentially(" t")
    query.press("Enter")
    expect(query).to_have_value("select item from total t\n")


def test_times_are_utc_wherever_one_looks_from(busy: Market, look: Look) -> None:
    query = "select+timestamp+'2026-01-01+12:00:00'+as+at,+cast(12345678901234567890.12+as+decimal(30,2))+as+sum"
    page = look(f"{busy.server.url}/#/sql?q={query}", zone="Europe/Berlin")
    expect(page.locator("tbody td").first).to_have_text("2026-01-01 12:00:00")
    expect(page.locator("tbody td").nth(1)).to_have_text("12,345,678,901,234,567,890.12")


def test_a_value_that_is_null_is_not_nought(market: Market, look: Look) -> None:
    market.trade((ago(65), "apple", "10.00"), (ago(5), "pear", None))
    page = look(f"{market.server.url}/#/view/ohlc?chart=top&column=high&per=hour&last=1d")
    expect(page.locator(".top .row")).to_have_text(["apple10"])


def test_a_phone_shows_the_flow_as_a_list_that_can_be_read(busy: Market, look: Look) -> None:
    page = look(f"{busy.server.url}/#/flow", width=390)
    box = page.get_by_role("link", name=re.compile("total version"))
    expect(box).to_be_visible()
    assert box.evaluate("(element) => parseFloat(getComputedStyle(element).fontSize)") >= 13
    assert Axe().run(page).response["violations"] == []


def test_a_server_that_is_silent_is_told(busy: Market, look: Look) -> None:
    page = look(f"{busy.server.url}/#/view/total", expected="ERR_FAILED|aborted|timed out")
    expect(page.locator("#health")).to_have_text("all parts run")
    page.route("**/flow", lambda route: None)
    expect(page.locator("#health")).to_have_text("no connection")
    expect(page.locator(".facts")).to_contain_text(re.compile("nothing heard for"))
    page.unroute_all(behavior="ignoreErrors")
