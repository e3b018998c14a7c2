from __future__ import annotations

import json

import pytest

from tarnbeck.errors import UsageError
from tarnbeck.log.lines import Line, read
from tests.log.declared import stream


def csv(*lines: bytes) -> list[Line]:
    return list(read(stream(), lines, "csv"))


def values(lines: list[Line]) -> list[object]:
    assert all(line.reason is None for line in lines)
    return [json.loads(line.value) for line in lines]


def test_json_lines_stay_as_they_are_but_for_the_line_end() -> None:
    lines = [b' {"a" : 1.50 }\r\n', b"\n", b"   \n", b"not json\n", b"last"]
    assert list(read(stream(), lines)) == [
        Line("line 1", b' {"a" : 1.50 }'),
        Line("line 4", b"not json"),
        Line("line 5", b"last"),
    ]


def test_a_line_over_one_mebibyte_is_reported_and_not_sent() -> None:
    exact, over = b"x" * 1024 * 1024, b"x" * (1024 * 1024 + 1)
    assert [line.reason for line in read(stream(), [exact + b"\n", over + b"\n"])] == [None, "larger than 1 MiB"]


def test_csv_cells_are_typed_by_the_schema_and_keep_every_digit() -> None:
    (line,) = csv(b"currency,price,volume,lots,real,tags\n", b'EUR,1.50,1e3,7,TRUE,"[""a""]"\n')
    assert line.value == b'{"currency":"EUR","price":1.50,"volume":1e3,"lots":7,"real":true,"tags":["a"]}'


def test_an_empty_csv_cell_is_a_missing_value_and_a_blank_row_is_skipped() -> None:
    assert values(csv(b"currency,price\n", b"EUR,\n", b"\n", b",2\n")) == [{"currency": "EUR"}, {"price": 2}]


def test_a_csv_cell_that_does_not_fit_is_sent_as_text_so_that_decoding_says_why() -> None:
    rows = csv(b"price,lots,real,tags\n", b"abc,0x1,maybe,[\n", b"NaN,01,,\n")
    assert values(rows) == [
        {"price": "abc", "lots": "0x1", "real": "maybe", "tags": "["},
        {"price": "NaN", "lots": "01"},
    ]


def test_a_csv_column_that_the_stream_does_not_have_is_kept_as_text() -> None:
    assert values(csv(b"currency,note\n", b"EUR,12\n")) == [{"currency": "EUR", "note": "12"}]


def test_quoted_csv_cells_may_hold_commas_quotes_and_line_ends() -> None:
    assert values(csv(b"currency,lots\n", b'"a,""b""\n', b'c",1\n')) == [{"currency": 'a,"b"\nc', "lots": 1}]


def test_a_byte_order_mark_before_the_header_is_ignored() -> None:
    assert values(csv(b"\xef\xbb\xbfcurrency\n", b"EUR\n")) == [{"currency": "EUR"}]


def test_csv_rows_that_can_not_be_read_are_reported_with_their_line_and_the_others_go_on() -> None:
    lines = csv(b"currency,lots\n", b"EUR\n", b'"\xff",1\n', b'"a"b,1\n', b"USD,2\n")
    assert [(line.place, line.reason) for line in lines[:2]] == [
        ("line 2", "2 cells expected as in the header, 1 found"),
        ("line 3", "not UTF-8"),
    ]
    assert lines[2].reason is not None
    assert lines[2].reason.startswith("not CSV: ")
    assert json.loads(lines[3].value) == {"currency": "USD", "lots": 2}


def test_a_csv_header_without_a_column_of_the_stream_is_refused() -> None:
    with pytest.raises(UsageError, match="the first line names no column of stream 'prices'"):
        csv(b"EUR,1.50\n")


def test_a_csv_header_that_names_a_column_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="must name each column once"):
        csv(b"price,price\n")


def test_an_empty_csv_file_gives_nothing() -> None:
    assert csv() == []


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match="unknown format 'xml'\n  expected one of: json, csv"):
        list(read(stream(), [], "xml"))  # type: ignore[arg-type]
