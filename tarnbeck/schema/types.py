"""The types a stream's columns can have, and how a value of each is kept in a state."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass


class Physical(enum.Enum):
    """How keys and states are kept, raw, in partials and stores: five forms for every scalar type.

    bool, int, long, date (days since 1970) and timestamp (UTC microseconds) are INT; a decimal is its unscaled
    integer, WIDE, as are sums; so every exact type is compared and added as a Python int.
    """

    INT = "int64"
    WIDE = "decimal128(38, 0)"
    REAL = "double"
    TEXT = "string"
    BLOB = "binary"


class Type:
    """A column's type."""


@dataclass(frozen=True)
class Scalar(Type):
    name: str
    physical: Physical

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Decimal(Type):
    precision: int
    scale: int

    @property
    def physical(self) -> Physical:
        return Physical.WIDE

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True)
class Column:
    """A named column or struct member; a column that is not nullable is quarantined when it is missing or null."""

    name: str
    type: Type
    nullable: bool = True

    def ddl(self, between: str) -> str:
        """Spark DDL of this column, with `between` name and type; a name that is no plain word stands in backticks."""
        name = self.name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.name) else f"`{self.name}`"
        return f"{name}{between}{self.type}" + ("" if self.nullable else " not null")

    def __str__(self) -> str:
        return self.ddl(" ")


@dataclass(frozen=True)
class Struct(Type):
    columns: tuple[Column, ...]

    def __str__(self) -> str:
        return "struct<" + ", ".join(column.ddl(": ") for column in self.columns) + ">"


@dataclass(frozen=True)
class Array(Type):
    element: Type

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True)
class Map(Type):
    """A JSON object with any keys; keys are strings."""

    value: Type

    def __str__(self) -> str:
        return f"map<string, {self.value}>"


BOOL = Scalar("boolean", Physical.INT)
INT = Scalar("int", Physical.INT)
LONG = Scalar("bigint", Physical.INT)
DOUBLE = Scalar("double", Physical.REAL)
STRING = Scalar("string", Physical.TEXT)
TIMESTAMP = Scalar("timestamp", Physical.INT)
DATE = Scalar("date", Physical.INT)
BINARY = Scalar("binary", Physical.BLOB)

ScalarType = Scalar | Decimal


@dataclass(frozen=True)
class Schema:
    """The columns of a stream, in order."""

    columns: tuple[Column, ...]

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def __str__(self) -> str:
        """Spark DDL: `str(schema)` can be parsed back to the same schema."""
        return ", ".join(str(column) for column in self.columns)
