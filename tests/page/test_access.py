"""Every page can be used by people who see, hear or type differently: what axe can tell of that."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.page.conftest import Look, ago
from tests.page.market import Market

pytestmark = pytest.mark.browser

PAGES = {
    "flow": "#/flow",
    "candles": "#/view/ohlc?last=5m&key.item=apple",
    "table": "#/view/ohlc?last=5m&chart=table",
    "top": "#/view/total",
    "heat": "#/view/ohlc?last=5m&chart=heat&column=trades",
    "sql": "#/sql?q=select+*+from+ohlc",
    "wrong": "#/sql?q=select+nothing+from+ohlc",
    "versions": "#/versions",
    "health": "#/health",
}


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)], ids=["wide-light", "phone-dark"])
def test_no_page_shuts_anyone_out(market: Market, look: Look, dark: bool, width: int) -> None:
    market.trade((ago(30), "apple", "10.00"), (ago(20), "apple", "12.00"), (ago(20), "pear", "3.00"))
    wrong = []
    for name, address in PAGES.items():
        page = look(f"{market.server.url}/{address}", expected="400|404", width=width, dark=dark)
        expect(page.locator("h1")).to_be_visible()
        expect(page.locator("#app")).to_have_text("market")
        # Wide things scroll inside their frames, the page itself never sideways.
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        found = Axe().run(page).response["violations"]
        wrong += [(name, each["id"], [node["html"][:150] for node in each["nodes"]][:3]) for each in found]
    assert wrong == []
