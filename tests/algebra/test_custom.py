"""Aggregates that users write: they keep the laws, are read back from definitions, and wrong ones are refused."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import tarnbeck as tb
from tarnbeck.algebra import custom
from tarnbeck.cli import main
from tarnbeck.errors import DeclarationError, UsageError
from tarnbeck.node.loading import load
from tarnbeck.plan.definition import identity
from tarnbeck.store.definitions import _view as memo_of_views
from tarnbeck.testing import laws, run
from tests.serve.sample import filled

START = datetime(2026, 1, 1, tzinfo=UTC)


class Reach(tb.Custom):
    """How far apart the least and the greatest value are, counted in steps."""

    state = "low decimal(18,2), high decimal(18,2)"
    returns = "double"
    step = 1.0

    def prepare(self, value: Decimal) -> tuple[Any, ...]:
        return value, value

    def merge(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        return min(a[0], b[0]), max(a[1], b[1])

    def finish(self, state: tuple[Any, ...]) -> float:
        return float(state[1] - state[0]) / self.step


class FastReach(Reach):
    """The same from whole columns."""

    def prepare_many(self, column: pa.Array) -> tuple[Any, ...]:
        found = pc.min_max(column)
        return found["min"].as_py(), found["max"].as_py()


class Weights(tb.Custom):
    """Of two columns, with a list in its state."""

    state = "values array<double>, seen timestamp"
    returns = "array<double>"

    def prepare(self, value: Decimal, weight: Decimal) -> tuple[Any, ...]:
        return [float(value * weight)], START

    def merge(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        return sorted(a[0] + b[0]), max(a[1], b[1])

    def finish(self, state: tuple[Any, ...]) -> Any:
        assert state[1] == START
        return state[0]


class Newest(tb.Custom):
    """A planted mistake: it depends on the order of merging."""

    state = "value decimal(18,2)"
    returns = "decimal(18,2)"

    def prepare(self, value: Decimal) -> tuple[Any, ...]:
        return (value,)

    def merge(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
        return b

    def finish(self, state: tuple[Any, ...]) -> Any:
        return state[0]


@pytest.mark.parametrize("mine", [Reach("value"), FastReach("value"), Weights("value", "other")], ids=lambda a: a.name)
def test_they_keep_the_laws(mine: tb.Custom) -> None:
    laws.check(mine, "decimal(18,2)", examples=25)


@pytest.mark.long
def test_one_that_depends_on_order_is_caught() -> None:
    with pytest.raises(AssertionError, match="changed the state"):
        laws.check(Newest("value"), "decimal(18,2)")


def shop(**select: Any) -> tb.App:
    app = tb.App("shop")
    orders = app.stream("orders", "time timestamp, item string, price decimal(18,2), pieces int", time="time")
    app.view("all", orders, select=select)
    return app


PLACE = {"_partition": 0, "_index": 0, "_received": START, "_time": START}
APP = """

app = tb.App("shop")
app.stream("orders", "time timestamp, item string", time="time")
"""
EVENTS = [
    {"time": START, "item": item, "price": price, "pieces": 2} for item, price in (("a", 3), ("b", None), ("a", 8))
]


def test_they_answer_beside_others() -> None:
    app = shop(n=tb.count(), steps=Reach("price", step=2.5), none=Reach("price", where="item = 'b'"), twice="steps * 2")
    assert run(app, EVENTS)["all"] == [{"n": 3, "steps": 2.0, "none": None, "twice": 4.0}]


def test_a_definition_that_is_read_back_is_the_same() -> None:
    app = shop(steps=Reach("price", step=2.5, where="pieces > 1"), fast=FastReach("price"))
    again = tb.App.of(app.definition())
    assert identity(again.views["all"]) == identity(app.views["all"])
    assert run(again, EVENTS)["all"] == run(app, EVENTS)["all"]


def test_a_class_may_have_the_name_of_a_built_in_aggregate() -> None:
    class Rate(Reach):
        """Not events per second."""

    app = shop(mine=Rate("price"), steps=Reach("price"), built_in=tb.rate("price"))
    again = tb.App.of(app.definition())
    assert identity(again.views["all"]) == identity(app.views["all"])
    (row,) = run(again, EVENTS)["all"]
    assert row["mine"] == row["steps"] != row["built_in"]


def test_a_class_that_is_not_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    definition = shop(steps=Reach("price")).definition()
    monkeypatch.delitem(custom.CUSTOM, "reach")
    with pytest.raises(UsageError, match="aggregate 'reach': the class that it is made by is not loaded here"):
        tb.App.of(definition)


def test_changed_code_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    definition = shop(steps=Reach("price")).definition()
    monkeypatch.setattr(Reach, "finish", lambda self, state: 0.0)
    with pytest.raises(DeclarationError, match="aggregate 'reach': its code has changed"):
        tb.App.of(definition)


def test_the_same_file_loaded_twice_is_the_same_code(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import tarnbeck as tb\n"
        "LIMIT = 10\n"
        "class Capped(tb.Custom):\n"
        "    state = 'total bigint'\n"
        "    returns = 'bigint'\n"
        "    def prepare(self, value): return (min(value, LIMIT),)\n"
        "    def merge(self, a, b): return (a[0] + b[0],)\n"
        "    def finish(self, state): return state[0]\n"
        "app = tb.App('mine')\n"
        "numbers = app.stream('numbers', 'time timestamp, n int', time='time')\n"
        "app.view('all', numbers, select={'capped': Capped('n')})\n"
    )
    first, second = load(file), load(file)
    assert identity(first.views["all"]) == identity(second.views["all"])
    assert run(first, [{"time": START, "n": n} for n in (3, 30)])["all"] == [{"capped": 13}]


def test_the_command_line_loads_what_views_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    app = shop(steps=Reach("price"))
    events = [{**PLACE, "_offset": n, **event} for n, event in enumerate(EVENTS)]
    store = filled(tmp_path / "store", app, events)
    file = tmp_path / "app.py"
    file.write_text("from __future__ import annotations\nimport tarnbeck as tb\n\n\n" + inspect.getsource(Reach) + APP)
    store.set_meta("file", str(file))
    store.close()
    monkeypatch.delitem(custom.CUSTOM, "reach")
    memo_of_views.cache_clear()
    with pytest.raises(SystemExit) as ended:
        main.main(["query", "all", "--folder", str(tmp_path)])
    assert (ended.value.code, capsys.readouterr().out.splitlines()) == (0, ["steps", "5.0"])


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: Reach("price", size=3), "reach: unknown option 'size'"),
        (lambda: Reach("price", step=[1]), "reach: bad step"),
        (lambda: shop(a=Reach()), "reach(): expected a column"),
        (lambda: shop(a=Reach("prise")), "unknown column 'prise'"),
    ],
)
def test_wrong_uses_are_refused(made: Any, message: str) -> None:
    with pytest.raises(DeclarationError) as wrong:
        made()
    assert message in str(wrong.value)


@pytest.mark.parametrize(
    ("lacks", "message"),
    [
        ("state", "aggregate 'shapeless': it has no state\n  say what it keeps, such as state = 'total bigint'"),
        ("returns", "aggregate 'shapeless': it has no returns\n  say of which type it is, such as returns = 'bigint'"),
    ],
)
def test_a_class_that_does_not_say_what_it_keeps_is_refused(lacks: str, message: str) -> None:
    class Shapeless(Reach):
        pass

    setattr(Shapeless, lacks, None)
    with pytest.raises(DeclarationError) as wrong:
        Shapeless("price")
    assert str(wrong.value) == message


@pytest.mark.parametrize(
    ("state", "given", "message"),
    [
        ("total bigint", 1.5, "prepare gave 1.5 for its state 'total'\n  expected bigint"),
        ("total int", Decimal("0.5"), "prepare gave Decimal('0.5') for its state 'total'\n  expected int"),
        ("total bigint", "1", "prepare gave '1' for its state 'total'\n  expected bigint"),
        ("total array<bigint>", [1, 2.5], "prepare gave [1, 2.5] for its state 'total'\n  expected array<bigint>"),
        ("total array<bigint>", 1, "prepare gave 1 for its state 'total'\n  expected array<bigint>"),
        ("total bigint", float("nan"), "prepare gave nan for its state 'total'\n  expected bigint"),
        ("share double", "0.5", "prepare gave '0.5' for its state 'share'\n  expected double"),
        ("price decimal(18,2)", 0.1, "prepare gave 0.1 for its state 'price'\n  expected decimal(18,2)"),
        ("at timestamp", 5, "prepare gave 5 for its state 'at'\n  expected timestamp"),
        ("price decimal(18,2)", "much", "prepare gave 'much' for its state 'price'\n  expected decimal(18,2)"),
    ],
)
def test_a_value_that_a_state_can_not_hold_is_refused(state: str, given: Any, message: str) -> None:
    with pytest.raises(UsageError) as wrong:
        run(shop(a=one_state(state, given)("price")), EVENTS)
    assert str(wrong.value) == f"aggregate 'kept': {message}"


@pytest.mark.parametrize(
    ("state", "given"),
    [
        ("total bigint", 2.0),
        ("total bigint", True),
        ("total bigint", None),
        ("share double", 1),
        ("price decimal(18,2)", 1.5),
    ],
)
def test_a_value_that_loses_nothing_is_kept(state: str, given: Any) -> None:
    assert run(shop(a=one_state(state, given)("price")), EVENTS)["all"] == [{"a": given}]


def one_state(kept: str, given: Any) -> type[tb.Custom]:
    class Kept(tb.Custom):
        state = kept
        returns = "double"

        def prepare(self, value: Decimal) -> tuple[Any, ...]:
            return (given,)

        def merge(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
            return a

        def finish(self, state: tuple[Any, ...]) -> Any:
            return state[0]

    return Kept


def test_a_finish_that_fails_is_named_with_its_view() -> None:
    class Ratio(Reach):
        def finish(self, state: tuple[Any, ...]) -> Any:
            return 1 / (state[0] - state[0])

    with pytest.raises(tb.TarnbeckError) as wrong:
        run(shop(n=tb.count(), a=Ratio("price")), EVENTS)["all"]
    assert isinstance(wrong.value.__cause__, ArithmeticError)
    assert str(wrong.value).startswith("view 'all': 'a': aggregate 'ratio': finish failed: DivisionByZero: ")
    assert str(wrong.value).endswith(
        "\n  its state was (Decimal('3.00'), Decimal('8.00'))\n  it must give a value, or None, for every state"
    )


def test_a_state_of_another_shape_is_refused() -> None:
    class Lost(Reach):
        def merge(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]:
            return (min(a[0], b[0]),)

    with pytest.raises(UsageError, match=r"aggregate 'lost': merge gave .*\n  expected a tuple of: low decimal"):
        run(shop(a=Lost("price")), EVENTS)
