"""The page of views in a real browser, against the real server over a real store."""

from __future__ import annotations

import gzip
import io
import json
import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect
from pyarrow import parquet

import tarnbeck as tb
from tests.page.conftest import Look, ago
from tests.page.market import Market
from tests.waiting import awaited

pytestmark = pytest.mark.browser

LOST = "ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET"


def chart(page: Page) -> Any:
    return page.locator(".chart canvas").first


def told(market: Market, path: str, accept: str = "application/json") -> bytes:
    return httpx.get(f"{market.server.url}{path}", headers={"accept": accept}).content


@pytest.fixture
def quiet(market: Market) -> Market:
    """Trades that are over: what is asked twice is answered twice the same."""
    market.trade(*((ago(300 - i), item, f"{10 + i % 7}.50") for i in range(200) for item in ("apple", "pear")))
    return market


def test_candles_are_recognised_and_change_while_one_looks(market: Market, look: Look) -> None:
    market.trade((ago(30), "apple", "10.00"), (ago(20), "apple", "12.00"), (ago(20), "pear", "3.00"))
    page = look(f"{market.server.url}/#/view/ohlc?last=5m")
    expect(chart(page)).to_have_attribute("aria-label", re.compile("candle chart. apple: newest 12 at"))
    for price in ("13.25", "14.75"):
        market.trade((ago(0), "apple", price))
        expect(chart(page)).to_have_attribute("aria-label", re.compile(f"apple: newest {price} at"))
    expect(page.locator(".facts .cut")).to_have_text("cut 0:5")
    expect(page.locator("#health")).to_have_text("all parts run")


def test_a_server_that_was_gone_is_found_again(market: Market, look: Look) -> None:
    market.trade((ago(20), "apple", "12.00"))
    page = look(f"{market.server.url}/#/view/ohlc?last=5m", expected=LOST)
    expect(chart(page)).to_have_attribute("aria-label", re.compile("newest 12 at"))
    port = market.server.port
    market.server.stop()
    expect(page.get_by_role("alert")).to_contain_text("The connection is lost")
    expect(page.locator("#health")).to_have_text("no connection")
    market.trade((ago(0), "apple", "15.00"))
    market.serve(port)
    expect(chart(page)).to_have_attribute("aria-label", re.compile("newest 15 at"))
    expect(page.get_by_role("alert")).to_have_count(0)


def test_what_does_not_exist_is_answered_with_what_does(market: Market, look: Look) -> None:
    page = look(f"{market.server.url}/#/view/prices", expected="404|400")
    expect(page.get_by_role("alert")).to_contain_text("The app has: newest, ohlc, total")
    page.goto(f"{market.server.url}/#/view/ohlc?since=yesterday")
    expect(page.get_by_role("alert")).to_contain_text("yesterday")


def test_a_question_is_its_address(quiet: Market, look: Look) -> None:
    page = look(f"{quiet.server.url}/#/view/ohlc")
    page.get_by_label("Show").select_option("line")
    page.get_by_label("Column").select_option("high")
    page.get_by_label("Per").select_option("minute")
    page.wait_for_url(re.compile("per=minute"))
    expect(chart(page)).to_have_attribute("aria-label", re.compile("line chart. apple: newest"))
    page.locator("details.keys summary").click()
    page.get_by_role("checkbox", name="pear").click()
    expect(chart(page)).to_have_attribute("aria-label", re.compile("line chart. pear: newest"))
    assert {"key.item=pear", "chart=line", "column=high", "per=minute"} <= set(re.split("[?&]", page.url))
    other = look(page.url)
    expect(other.get_by_label("Column")).to_have_value("high")
    expect(chart(other)).to_have_attribute("aria-label", re.compile("line chart. pear: newest"))


def test_downloads_hold_what_the_api_tells(quiet: Market, look: Look) -> None:
    page = look(f"{quiet.server.url}/#/view/ohlc?last=1h&per=minute&key.item=apple&live=off")
    expect(page.locator(".facts .cut")).to_be_visible()
    path = "/views/ohlc?item=apple&last=1h&per=minute"
    found = {}
    for button in ("CSV", "Parquet", "PNG"):
        with page.expect_download() as download:
            page.get_by_role("button", name=button).click()
        found[button] = download.value.path().read_bytes()
    assert found["CSV"] == told(quiet, path, "text/csv")
    rows = json.loads(told(quiet, path))["rows"]
    assert [str(price) for price in parquet.read_table(io.BytesIO(found["Parquet"]))["close"].to_pylist()] == [
        row["close"] for row in rows
    ]
    assert found["PNG"].startswith(b"\x89PNG")


def test_the_code_for_this_gives_the_same_answer(quiet: Market, look: Look) -> None:
    page = look(f"{quiet.server.url}/#/view/ohlc?last=1h&per=minute&key.item=apple&live=off&chart=table")
    page.get_by_text("The code for this").click()
    python, curl, sql = (page.locator(f".code-{kind}").inner_text() for kind in ("python", "curl", "sql"))
    names: dict[str, Any] = {}
    exec(compile(python, "the code for this", "exec"), names)  # noqa: S102 (what the page shows must run)
    rows = names["answer"].dicts()
    assert len(rows) >= 3
    assert [row["close"] for row in json.loads(told(quiet, curl.split(quiet.server.url)[1].strip("'")))["rows"]] == [
        str(row["close"]) for row in rows
    ]
    with tb.connect(quiet.server.url) as client:
        assert [row["close"] for row in client.sql(sql).dicts()] == [row["close"] for row in rows]
    shown = page.locator("tbody tr")
    assert shown.count() == len(rows)


def test_several_keys_are_asked_for_and_nothing_else(quiet: Market, look: Look) -> None:
    quiet.trade(*((ago(30), f"plum {n}", "1.00") for n in range(20)))
    page = look(f"{quiet.server.url}/#/view/ohlc?last=1h&per=hour&key.item=apple&key.item=pear&live=off&chart=table")
    expect(page.locator("tbody tr").first).to_be_visible()
    shown = set(page.locator("tbody tr td:first-child").all_inner_texts())
    page.get_by_text("The code for this").click()
    python, curl, sql = (page.locator(f".code-{kind}").inner_text() for kind in ("python", "curl", "sql"))
    names: dict[str, Any] = {}
    exec(compile(python, "the code for this", "exec"), names)  # noqa: S102 (what the page shows must run)
    over_http = json.loads(told(quiet, curl.split(quiet.server.url)[1].strip("'")))["rows"]
    with tb.connect(quiet.server.url) as client:
        by_sql = client.sql(sql).dicts()
    for rows in (names["answer"].dicts(), over_http, by_sql):
        assert {row["item"] for row in rows} == shown == {"apple", "pear"}
        assert len(rows) == page.locator("tbody tr").count()


def test_windows_are_gone_through_by_keys_alone(quiet: Market, look: Look) -> None:
    page = look(f"{quiet.server.url}/#/view/ohlc?last=1h&chart=line&column=close&key.item=apple&per=second")
    expect(chart(page)).to_have_attribute("aria-label", re.compile("line chart"))
    chart(page).focus()
    page.keyboard.press("End")
    newest = page.locator(".tip b").inner_text()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".tip b")).not_to_have_text(newest)


def test_what_speed_has_added_is_told_apart(quiet: Market, look: Look) -> None:
    quiet.batch()
    quiet.trade((ago(0), "apple", "99.00"))
    page = look(f"{quiet.server.url}/#/view/ohlc?last=15m&layers=on&per=second&key.item=apple")
    expect(page.get_by_text("the speed layer has added")).to_be_visible()
    answer = json.loads(told(quiet, "/views/ohlc?item=apple&last=15m&per=second&layer=batch"))
    assert answer["cut"]["offsets"] == {"0": 400}
    assert [row for row in answer["rows"] if row["close"] == "99.00"] == []


def test_a_table_is_asked_for_a_moment_before(market: Market, look: Look) -> None:
    market.trade((ago(7200), "apple", "10.00"), (ago(60), "apple", "12.00"))
    page = look(f"{market.server.url}/#/view/newest?chart=table")
    expect(page.locator("tbody tr")).to_have_text(re.compile("12"))
    page.get_by_label("As of (UTC)").fill(f"{ago(3600):%Y-%m-%dT%H:%M:%S}")
    page.get_by_label("As of (UTC)").blur()
    expect(page.locator("tbody tr")).to_have_text(re.compile("10"))
    page.get_by_text("The code for this").click()
    with tb.connect(market.server.url) as client:
        assert str(client.sql(page.locator(".code-sql").inner_text()).dicts()[0]["price"]) == "10.00"


@pytest.mark.parametrize("kind", ["bar", "heat", "top", "table"])
def test_every_way_to_show_a_view_draws_it(quiet: Market, look: Look, kind: str) -> None:
    page = look(f"{quiet.server.url}/#/view/ohlc?chart={kind}&per=minute&last=15m&column=trades")
    place = page.locator({"bar": ".chart", "heat": ".heat", "top": ".top .row", "table": "tbody tr"}[kind]).first
    expect(place).to_be_attached()
    expect(page.locator(".facts b").first).to_contain_text("row")


def test_a_hundred_thousand_points_are_one_chart(market: Market, look: Look) -> None:
    begin = ago(100_000)
    second = begin.__class__.resolution * 1_000_000
    market.trade(*((begin + i * second, "apple", f"{1000 + i % 977}.25") for i in range(100_000)))
    page = look(f"{market.server.url}/#/view/ohlc?last=30d&per=second&chart=line&limit=200000")
    expect(page.locator(".facts b").first).to_have_text("100,000 rows")
    expect(chart(page)).to_have_attribute("aria-label", re.compile("100000 windows"))


def test_the_page_is_light_and_needs_nothing_from_elsewhere(market: Market, look: Look) -> None:
    market.trade((ago(10), "apple", "10.00"))
    asked: list[str] = []
    page = look(market.server.url, expected="503|404")  # there is neither log nor alerts here
    page.on("request", lambda request: asked.append(request.url))
    page.reload()
    expect(page.locator("svg.flow")).to_be_visible()
    for part in ("Views", "SQL", "Streams", "Versions", "Health"):
        page.get_by_role("link", name=part, exact=True).click()
    awaited(lambda: any("/alerts" in url for url in asked), "the last page asks")
    assert all(url.startswith((market.server.url, "blob:", "data:")) for url in asked)
    files = {url for url in asked if "/page/" in url} | {market.server.url + "/"}
    packed = sum(len(gzip.compress(httpx.get(url).content)) for url in files)
    assert packed < 600_000


def test_what_others_have_asked_for_is_seen_while_it_goes_on(market: Market, look: Look) -> None:
    job = {"job": "replay", "view": "total version 2", "step": "10 of 40 records", "left": 42.0, "seconds": 14.0}
    market.jobs = [{**job, "done": 0.25}]
    page = look(f"{market.server.url}/#/versions")
    bar = page.get_by_role("progressbar", name="replay, total version 2, 10 of 40 records, 42 s left")
    expect(bar).to_have_js_property("value", 0.25)
    market.jobs = [{**job, "done": None, "step": "publishing"}]
    expect(page.get_by_role("progressbar", name="publishing")).to_be_visible()
    market.jobs = []
    expect(page.get_by_role("progressbar")).to_have_count(0)
