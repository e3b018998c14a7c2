"""How events are put together into packs, without a broker."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pytest

from tarnbeck.log.pack import FULL, Lines, Packed, key_of, of_table, partition_of
from tarnbeck.schema import packs
from tarnbeck.schema.stream import Stream
from tests.log.declared import stream

JAVA = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
"""Keys and their hashes in Kafka's own tests."""


@pytest.mark.parametrize(("key", "value"), JAVA.items())
def test_a_key_goes_where_java_puts_it(key: bytes, value: int) -> None:
    for partitions in (1, 2, 7, 2**31 - 1):
        assert partition_of(key, partitions) == (value & 0x7FFFFFFF) % partitions


def opened(found: list[Packed]) -> list[bytes]:
    return [text for each in found for text in packs.opened(each.pack.value, each.pack.content_type.encode())]


def test_lines_of_one_partition_keep_their_order_and_packs_their_limit() -> None:
    lines, found = Lines(2), list[Packed]()
    keys = (b"EUR", b"USD", b"GBP")
    texts = {key: [b"%s %d %s" % (key, number, b"x" * 300_000) for number in range(10)] for key in keys}
    for number in range(10):
        for key, each in texts.items():
            found += lines.add(key, each[number], f"line {number}")
    found += lines.rest()
    assert max(len(each.pack.value) for each in found) <= FULL
    assert sum(each.events for each in found) == 30
    assert list(lines.rest()) == []
    for key, each in texts.items():
        mine = opened([pack for pack in found if pack.partition == partition_of(key, 2)])
        assert [text for text in mine if text in each] == each


def test_events_without_a_key_may_go_anywhere() -> None:
    lines = Lines(5)
    list(lines.add(None, b"{}", "line 1"))
    assert [(each.partition, each.events, each.place) for each in lines.rest()] == [(None, 1, "line 1")]


@pytest.mark.parametrize(
    "keys",
    [
        pa.array(["EUR", "USD", None, "", "é", "EUR"]),
        pa.array([1, 2, None, -3, 10**12, 1]),
        pa.array([Decimal("1.50"), Decimal("2.25"), None, Decimal("0.10"), Decimal("3.00"), Decimal("1.50")]),
        pa.array([0.5, 2.0, None, 1e300, -0.5, 0.5]),
        pa.array([True, False, None, True, False, True]),
        pa.array(["a", "b", None, "c", "d", "a"]).dictionary_encode(),
        pa.array([["a"], [], None, ["b", "c"], ["d"], ["a"]]),
    ],
    ids=lambda keys: str(keys.type),
)
def test_a_row_goes_to_the_partition_of_its_json(keys: pa.Array) -> None:
    found = list(of_table(stream(), pa.table({"currency": keys, "lots": range(6)}), 7))
    assert sum(each.events for each in found) == 6
    for each in found:
        for text in opened([each]):
            key = key_of(stream(), text)
            assert each.partition == (None if key is None else partition_of(key, 7))


def test_rows_are_cut_by_their_bytes_and_named_by_their_number() -> None:
    texts = ["x" * 300_000] * 7 + ["x" * 2_000_000] + ["y"] * 1000
    found = list(of_table(stream(), pa.table({"currency": ["EUR"] * 1008, "note": texts}), 2))
    large = [each for each in found if len(each.pack.value) > FULL]
    assert [(each.events, each.place) for each in large] == [(1, "row 8")]
    assert [json.loads(text)["note"] for text in opened(found)] == texts


@pytest.mark.parametrize("keyless", [stream(key=None), stream(key="lots")])
def test_a_table_without_the_key_column_may_go_anywhere(keyless: Stream) -> None:
    (found,) = of_table(keyless, pa.table({"currency": ["EUR", "USD"]}), 7)
    assert (found.partition, found.events, found.place) == (None, 2, "row 1")
