"""The reference pages are what the code says, and the guide leaves no function, metric or route out."""

from __future__ import annotations

import pytest

from docs import generate
from tarnbeck.cli.main import COMMANDS, QUARANTINE
from tarnbeck.errors import TarnbeckError
from tarnbeck.expression.functions import FUNCTIONS, REFUSED
from tarnbeck.log.settings import PROPERTIES
from tarnbeck.serve.http import ROUTES
from tests.docs.pages import PAGES


def text(page: str) -> str:
    return PAGES[page].read_text(encoding="utf-8")


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_reference_page_is_up_to_date(name: str) -> None:
    assert text(f"docs/{name}") == generate.PAGES[name](), "run: python -m docs.generate"


def test_every_command_is_in_the_reference() -> None:
    commands = [f"tarnbeck {command.name}" for command in COMMANDS]
    commands += [f"tarnbeck quarantine {command.name}" for command in QUARANTINE]
    assert [name for name in commands if f"## {name}\n" not in text("docs/cli.md")] == []


def test_every_route_is_in_the_reference_or_serves_it() -> None:
    described = text("docs/api.md")
    missing = [path for path in ROUTES if f" {path}\n" not in described]
    assert missing == ["/", "/page/{file}", "/openapi.json", "/docs"]


def test_every_function_of_expressions_is_explained() -> None:
    explained = text("docs/declarations.md")
    assert [name for name in FUNCTIONS if f"{name}(" not in explained] == []


def test_no_refused_function_is_listed_as_one_that_can_be_used() -> None:
    rows = [line.split("|")[1] for line in text("docs/declarations.md").splitlines() if line.startswith("| `")]
    listed = " ".join(row for row in rows if "tb." not in row)
    assert [name for name in REFUSED if f"`{name}(" in listed] == []


def test_every_setting_of_a_foreign_kafka_is_explained() -> None:
    explained = text("docs/sending.md")
    assert [name for name in PROPERTIES if f"`{name}`" not in explained] == []


def test_every_exit_code_is_explained() -> None:
    explained = text("docs/trust.md")
    codes = {kind.exit_code for kind in TarnbeckError.__subclasses__()} | {TarnbeckError.exit_code}
    assert [code for code in codes if f"\n| {code} | " not in explained] == []
