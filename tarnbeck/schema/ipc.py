"""What pyarrow does not tell of an Arrow stream before it is read: whether it is compressed.

A few kilobytes can be decompressed to more than a machine has. The layout is that of Arrow's Message.fbs.
"""

from __future__ import annotations

import struct

import pyarrow as pa

HEADER, DICTIONARY_DATA, COMPRESSION = 2, 1, 3
"""The places of fields in the tables Message, DictionaryBatch and RecordBatch."""


def compressed(stream: pa.Buffer) -> bool:
    """Whether any batch of an Arrow stream is compressed; what is wrong with a stream is left to its reader to tell."""
    reader = pa.ipc.MessageReader.open_stream(pa.BufferReader(stream))
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return False
        flat = message.metadata.to_pybytes()
        header = _table(flat, _follow(flat, 0), HEADER)
        if header is not None and message.type == "dictionary":
            header = _table(flat, header, DICTIONARY_DATA)
        if header is not None and message.type != "schema" and _table(flat, header, COMPRESSION) is not None:
            return True


def _table(flat: bytes, table: int, field: int) -> int | None:
    """Where the table stands that a field of another one points to."""
    at = table - _number(flat, "<i", table)
    slot = 4 + 2 * field
    offset = _number(flat, "<H", at + slot) if slot < _number(flat, "<H", at) else 0
    return _follow(flat, table + offset) if offset else None


def _follow(flat: bytes, at: int) -> int:
    return at + _number(flat, "<I", at)


def _number(flat: bytes, form: str, at: int) -> int:
    (found,) = struct.unpack_from(form, flat, at)
    return int(found)
