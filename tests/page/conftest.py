"""A real browser, and pages of which nothing that goes wrong is overlooked."""

from __future__ import annotations

import datetime
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tarnbeck.serve.clock import now
from tests.page.market import Market

ARTIFACTS = Path(__file__).parents[2] / "artifacts" / "page"
Look = Callable[..., Page]
# What a page shows comes when a busy machine lets it; each wait ends as soon as it is there.
PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    assert found, "no Chromium: apt-get install chromium"
    # Chromium's sandbox needs rights that root in a container lacks; it opens nothing but this machine's own server.
    options = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=options)
        yield started
        started.close()


@pytest.fixture
def look(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Look]:
    """Opens pages; afterwards a picture of each is kept, and errors that no test expects fail it."""
    opened: list[Page] = []
    wrong: list[str] = []

    def open_(url: str, *, expected: str = "", width: int = 1280, dark: bool = False, zone: str = "UTC") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
            timezone_id=zone,
        )
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: wrong.append(str(error)))

        def said(message: object) -> None:
            text = f"{message.type}: {message.text}"  # type: ignore[attr-defined]
            if message.type in ("error", "warning") and not (expected and re.search(expected, text)):  # type: ignore[attr-defined]
                wrong.append(text)

        page.on("console", said)
        page.goto(url)
        opened.append(page)
        return page

    yield open_
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    for number, page in enumerate(opened):
        page.screenshot(path=ARTIFACTS / f"{request.node.name}-{number}.png")
        page.context.close()
    assert wrong == []


@pytest.fixture
def market(tmp_path: Path) -> Iterator[Market]:
    made = Market(tmp_path, now)
    yield made
    made.close()


def ago(seconds: float) -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=seconds)
