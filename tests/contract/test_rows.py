"""What every store promises about values: they come back as they went in, and only those that were asked for."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from tarnbeck.errors import StoreError
from tarnbeck.plan.layout import Layout
from tarnbeck.schema.types import Physical
from tests.contract.stores import Case, Row, cut, layout_of, table

EXTREMES: dict[Physical, list[object]] = {
    Physical.INT: [0, 1, -1, 2**63 - 1, -(2**63), None],
    Physical.WIDE: [0, 7, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**38 - 1, -(10**38) + 1, None],
    Physical.REAL: [0.5, 1.0, -3.0, 1e308, -1e-308, 5e-324, math.inf, -math.inf, None],
    Physical.TEXT: ["", "123", "1.0", "a\x00b", "a", "ab", "ü", "\U0001f30a", "null", None],
    Physical.BLOB: [b"", b"\x00", b"\x00\xff", b"123", b"\xff", None],
}
ALL = tuple(Physical)


@pytest.mark.parametrize("physical", ALL)
def test_states_come_back_as_they_went_in(case: Case, physical: Physical) -> None:
    layout = layout_of((Physical.INT,), (physical,))
    version = case.view(layout=layout).id
    rows: list[Row] = [(i, 0, 0, value) for i, value in enumerate(EXTREMES[physical])]  # type: ignore[misc]
    case.feed(version, cut(1), rows, layout)
    found = sorted(case.rows(), key=lambda row: row[0] or 0)
    assert found == rows
    assert [type(row[-1]) for row in found] == [type(row[-1]) for row in rows]


@pytest.mark.parametrize("physical", ALL)
def test_keys_come_back_as_they_went_in_and_each_is_found(case: Case, physical: Physical) -> None:
    layout = layout_of((physical,), (Physical.INT,))
    version = case.view(layout=layout).id
    rows: list[Row] = [(value, 0, 0, i) for i, value in enumerate(EXTREMES[physical])]  # type: ignore[misc]
    case.feed(version, cut(1), rows, layout)
    with case.store.snapshot() as snapshot:
        for row in rows:
            assert [found for part in snapshot.parts("ohlc", key=row[:1]) for found in part] == [row]
            assert [found for part in snapshot.parts("ohlc", where={0: row[0]}) for found in part] == [row]


def test_a_sum_of_infinities_stays_not_a_number(case: Case) -> None:
    layout = layout_of((), (Physical.REAL,))
    version = case.view(layout=layout).id
    case.feed(version, cut(1), [(0, 0, math.inf)], layout)
    case.feed(version, cut(2), [(0, 0, -math.inf)], layout)
    case.feed(version, cut(3), [(0, 0, 1.0)], layout)
    ((*_, found),) = case.rows()
    assert isinstance(found, float)
    assert math.isnan(found)


def test_sums_grow_beyond_64_bits(case: Case) -> None:
    layout = layout_of((), (Physical.WIDE,))
    version = case.view(layout=layout).id
    for i in range(3):
        case.feed(version, cut(i + 1), [(0, 0, 2**63 - 1)], layout)
    assert case.rows() == [(0, 0, 3 * (2**63 - 1))]


def test_null_keys_are_one_key_and_no_other(case: Case) -> None:
    layout = layout_of((Physical.TEXT, Physical.INT), (Physical.INT,))
    version = case.view(layout=layout).id
    rows: list[Row] = [(None, None, 0, 0, 1), ("", None, 0, 0, 1), (None, 0, 0, 0, 1), ("", 0, 0, 0, 1)]
    for i in range(2):
        case.feed(version, cut(i + 1), rows, layout)
    assert sorted(case.rows(), key=str) == sorted([(*row[:-1], 2) for row in rows], key=str)


def test_a_view_without_keys_and_a_view_without_states_are_kept(case: Case) -> None:
    cases: list[tuple[str, Layout, Row]] = [
        ("total", layout_of((), (Physical.INT,)), (0, 0, 4)),
        ("seen", layout_of((Physical.TEXT,), ()), ("EUR", 0, 0)),
    ]
    versions = [case.view(name, layout).id for name, layout, _ in cases]
    for version, (_, layout, row) in zip(versions, cases, strict=True):
        for i in range(2):
            case.feed(version, cut(i + 1), [row], layout)
    assert case.rows("total") == [(0, 0, 8)]
    assert case.rows("seen") == [("EUR", 0, 0)]


def test_a_read_gives_exactly_the_rows_that_a_filter_would(case: Case) -> None:
    layout = layout_of((Physical.TEXT, Physical.INT), (Physical.INT,))
    version = case.view(layout=layout).id
    rng = random.Random(1)
    places = list(itertools.product(["a", "ab", "b", None], [0, 1, None], [0, 1], range(-20, 40, 10)))
    halves = [[place for place in places if rng.random() < 0.6] for _ in range(2)]
    building = case.store.begin_generation(version, layout, cut(), None)
    building.write(table(layout, [(*place, 1) for place in halves[0]]))  # type: ignore[union-attr]
    building.seal()  # type: ignore[union-attr]
    case.store.publish(building, False)  # type: ignore[arg-type]
    case.feed(version, cut(1), [(*place, 1) for place in halves[1]], layout)
    keys: list[Row] = [(), ("a",), ("ab", 1), (None,), (None, None), ("zz",)]
    wheres: list[dict[int, int | None]] = [{}, {1: 0}, {1: None}]
    bounds = [None, -10, 5, 30]
    with case.store.snapshot() as snapshot:
        for key, where, level, start, end in itertools.product(keys, wheres, [0, 1], bounds, bounds):
            parts = snapshot.parts("ohlc", level=level, key=key, where=where, start=start, end=end)
            for found, half in zip(parts, halves, strict=True):
                wanted = [
                    place
                    for place in half
                    if place[: len(key)] == key
                    and all(place[i] == value for i, value in where.items())
                    and place[2] == level
                    and (start is None or place[3] >= start)
                    and (end is None or place[3] < end)
                ]
                assert sorted((row[:-1] for row in found), key=str) == sorted(wanted, key=str)


def test_rows_of_a_closed_snapshot_fail_rather_than_end(case: Case) -> None:
    case.feed(case.view().id, cut(1), [("EUR", 0, 0, 1)])
    with case.store.snapshot() as snapshot:
        (part,) = snapshot.parts("ohlc")
    with pytest.raises(Exception, match="closed"):
        next(part)


def test_an_unknown_view_is_named(case: Case) -> None:
    case.view()
    with pytest.raises(StoreError, match="did you mean 'ohlc'"), case.store.snapshot(["olhc"]):
        pass
    with case.store.snapshot() as snapshot, pytest.raises(StoreError, match="unknown view 'x'"):
        snapshot.parts("x")


def test_another_version_can_be_read_in_place_of_the_one_that_answers(case: Case) -> None:
    live, other = case.view(), case.view()
    case.feed(live.id, cut(1), [("EUR", 0, 0, 1)])
    case.feed(other.id, cut(1), [("EUR", 0, 0, 9)])
    with case.store.snapshot(["ohlc"], {"ohlc": other.id}) as snapshot:
        assert [row for part in snapshot.parts("ohlc") for row in part] == [("EUR", 0, 0, 9)]
    with pytest.raises(StoreError, match="has no version 99"), case.store.snapshot(None, {"ohlc": 99}):
        pass
