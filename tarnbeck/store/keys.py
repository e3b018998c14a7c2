"""Keys as bytes: never null, equal only for equal keys, in their order, and with the first keys as a byte prefix."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import lru_cache

from tarnbeck.algebra.state import Raw
from tarnbeck.schema.types import Physical

NULL = b"\x00"
PRESENT = b"\x01"
_INT_BIAS = 1 << 63
_WIDE_BIAS = 1 << 127
_ALL_BITS = (1 << 64) - 1


def _int(value: Raw) -> bytes:
    return (int(value or 0) + _INT_BIAS).to_bytes(8, "big")


def _wide(value: Raw) -> bytes:
    return (int(value or 0) + _WIDE_BIAS).to_bytes(16, "big")


def _real(value: Raw) -> bytes:
    """Adding 0.0 makes one zero of both; the bits of negative numbers are turned round so that they sort below."""
    bits: int
    (bits,) = struct.unpack(">Q", struct.pack(">d", float(value or 0) + 0.0))
    return (bits ^ (_ALL_BITS if bits & _INT_BIAS else _INT_BIAS)).to_bytes(8, "big")


def _blob(value: Raw) -> bytes:
    """Zero bytes are escaped so that the end mark can't occur inside, and "a" sorts before "ab"."""
    raw = value if isinstance(value, bytes) else str(value).encode()
    return raw.replace(b"\x00", b"\x00\xff") + b"\x00\x00"


ENCODERS: dict[Physical, Callable[[Raw], bytes]] = {
    Physical.INT: _int,
    Physical.WIDE: _wide,
    Physical.REAL: _real,
    Physical.TEXT: _blob,
    Physical.BLOB: _blob,
}


@lru_cache(maxsize=1024)
def encoder(physicals: tuple[Physical, ...]) -> Callable[[tuple[Raw, ...]], bytes]:
    """A function that encodes keys of these forms and remembers them, for the same keys come with every batch."""
    parts = [ENCODERS[physical] for physical in physicals]

    @lru_cache(maxsize=1 << 17)
    def encoded(values: tuple[Raw, ...]) -> bytes:
        return b"".join(
            NULL if value is None else PRESENT + part(value) for value, part in zip(values, parts, strict=True)
        )

    return encoded


def encode(values: tuple[Raw, ...], physicals: tuple[Physical, ...]) -> bytes:
    """The bytes of a key, or of its first columns.

    >>> encode(("EUR", 7), (Physical.TEXT, Physical.INT)).startswith(encode(("EUR",), (Physical.TEXT,)))
    True
    """
    return encoder(physicals)(values)


def after(prefix: bytes) -> bytes:
    """The lowest bytes above everything that starts with `prefix`.

    >>> after(b"a\\xff")
    b'b'
    """
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1])
