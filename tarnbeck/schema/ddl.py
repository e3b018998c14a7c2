"""A stream's schema from what a user writes (Spark DDL or a pyarrow schema), and its form in Arrow."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from tarnbeck.errors import DeclarationError
from tarnbeck.schema.types import (
    BINARY,
    BOOL,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    Column,
    Decimal,
    Map,
    Scalar,
    Schema,
    Struct,
    Type,
)

NAMED: dict[str, Scalar] = {
    "boolean": BOOL,
    "bool": BOOL,
    "int": INT,
    "integer": INT,
    "bigint": LONG,
    "long": LONG,
    "double": DOUBLE,
    "string": STRING,
    "timestamp": TIMESTAMP,
    "date": DATE,
    "binary": BINARY,
}
DECIMAL_NAMES = ("decimal", "dec", "numeric")
COMPOSED = (*DECIMAL_NAMES, "struct", "array", "map")

INSTEAD = {
    **dict.fromkeys(("float", "real"), "double"),
    **dict.fromkeys(("tinyint", "byte", "smallint", "short"), "int"),
    **dict.fromkeys(("char", "character", "varchar", "text", "variant"), "string"),
    **dict.fromkeys(("timestamp_ltz", "timestamp_ntz", "datetime"), "timestamp"),
    **dict.fromkeys(("interval", "time"), "bigint"),
}
"""Types that exist elsewhere but not here, and what to use: narrow ones would only add ways to overflow."""

ARROW_SCALARS: dict[Scalar, pa.DataType] = {
    BOOL: pa.bool_(),
    INT: pa.int32(),
    LONG: pa.int64(),
    DOUBLE: pa.float64(),
    STRING: pa.string(),
    TIMESTAMP: pa.timestamp("us", tz="UTC"),
    DATE: pa.date32(),
    BINARY: pa.binary(),
}

MOST_DIGITS = 38
DEEPEST = 32
"""How deep types may nest: well below the depth at which an event is refused."""
UNFIT = frozenset(" ,;{}()\n\t=.`")
"""Characters no name may have: Delta refuses them, and a dot separates the parts of a path."""


def parse(schema: str | pa.Schema, place: str = "schema") -> Schema:
    """The schema that a Spark DDL text or a pyarrow schema describes; `place` opens the message if it does not.

    >>> str(parse("time timestamp, price decimal(18,2), a struct<b: int, c: array<string>> not null"))
    'time timestamp, price decimal(18,2), a struct<b: int, c: array<string>> not null'
    """
    columns = _Ddl.of(schema, place).columns() if isinstance(schema, str) else _from_arrow(schema, place)
    if not columns:
        raise DeclarationError(f"{place}: no columns\n  write Spark DDL, such as 'time timestamp, price double'")
    _check_names(columns, place, "column")
    for column in columns:
        if column.name.startswith("_"):
            raise DeclarationError(
                f"{place}: the name '{column.name}' is reserved\n  names that start with '_' are tarnbeck's: rename it"
            )
        _check_type(column.type, f"{place}: column '{column.name}'", 1)
    return Schema(columns)


def arrow(column_type: Type) -> pa.DataType:
    """The Arrow type of a column; all of it is nullable, for decoding has already refused what must not be null."""
    match column_type:
        case Scalar():
            return ARROW_SCALARS[column_type]
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Struct(columns):
            return pa.struct([pa.field(column.name, arrow(column.type)) for column in columns])
        case Array(element):
            return pa.list_(arrow(element))
        case Map(value):
            return pa.map_(pa.string(), arrow(value))
    raise TypeError(f"no Arrow type for {column_type!r}")


def arrow_schema(schema: Schema) -> pa.Schema:
    """The declared columns of a schema in Arrow."""
    return pa.schema([pa.field(column.name, arrow(column.type)) for column in schema])


def _check_names(columns: Iterable[Column], place: str, what: str) -> None:
    seen: dict[str, str] = {}
    for column in columns:
        if not column.name or not UNFIT.isdisjoint(column.name):
            raise DeclarationError(
                f"{place}: '{column.name}' can't be the name of a {what}\n"
                "  names have no spaces, dots, backticks, nor any of , ; { } ( ) ="
            )
        folded = column.name.lower()
        if folded in seen:
            raise DeclarationError(
                f"{place}: the {what}s '{seen[folded]}' and '{column.name}' have the same name\n"
                "  names must differ by more than upper and lower case, because Spark takes those as one"
            )
        seen[folded] = column.name


def _check_type(column_type: Type, place: str, depth: int) -> None:
    if depth > DEEPEST:
        raise DeclarationError(f"{place}: the type is nested deeper than {DEEPEST} levels\n  declare a flatter one")
    match column_type:
        case Decimal(precision, scale):
            if not 1 <= precision <= MOST_DIGITS or not 0 <= scale <= precision:
                raise DeclarationError(
                    f"{place}: {column_type} does not exist\n"
                    f"  the precision must be 1 to {MOST_DIGITS} and the scale 0 to the precision"
                )
        case Struct(columns):
            if not columns:
                raise DeclarationError(f"{place}: a struct needs at least one member\n  or use map<string, ...>")
            _check_names(columns, place, "member")
            for member in columns:
                _check_type(member.type, f"{place}: member '{member.name}'", depth + 1)
        case Array(inner) | Map(inner):
            _check_type(inner, place, depth + 1)


def _refuse_type(found: str, place: str) -> DeclarationError:
    name = found.lower()
    known = [*NAMED, *COMPOSED]
    lines = [f"{place}: unknown type '{found}'", f"  types are: {', '.join(known)}"]
    near = difflib.get_close_matches(name, known, n=1)
    if name in INSTEAD:
        lines.append(f"  use {INSTEAD[name]}")
    elif near:
        lines.append(f"  did you mean '{near[0]}'?")
    return DeclarationError("\n".join(lines))


def _refuse_key(found: object, place: str) -> DeclarationError:
    return DeclarationError(f"{place}: the keys of a map must be string, found {found}\n  JSON has no other keys")


@dataclass(frozen=True)
class _Token:
    text: str
    start: int
    quoted: bool
    literal: bool

    @property
    def is_name(self) -> bool:
        return self.quoted or (not self.literal and self.text.replace("_", "a").isalnum())


@dataclass
class _Ddl:
    """Reads one DDL text token by token; sqlglot's own grammar of columns lets too much pass without a word."""

    tokens: list[_Token]
    place: str
    text: str
    at: int = 0
    depth: int = 0

    @classmethod
    def of(cls, text: str, place: str) -> _Ddl:
        # sqlglot is imported late: `import tarnbeck` must stay quick.
        from sqlglot import TokenError, TokenType, tokenize

        try:
            found = tokenize(text, dialect="spark")
        except TokenError as error:
            raise DeclarationError(f"{place}: can't read the schema: {error}\n  found: {text}") from error
        name, literal = TokenType.IDENTIFIER, TokenType.STRING
        tokens = [_Token(t.text, t.start, t.token_type == name, t.token_type == literal) for t in found]
        return cls(tokens, place, text)

    def columns(self) -> tuple[Column, ...]:
        if not self.tokens:
            return ()
        found = [self.column()]
        while self.at < len(self.tokens):
            self.expect(",")
            found.append(self.column())
        return tuple(found)

    def column(self) -> Column:
        name = self.name("the name of a column")
        self.take(":")
        column_type = self.type(name)
        required = self.take("not")
        if required:
            self.expect("null")
        return Column(name, column_type, nullable=not required)

    def type(self, column: str) -> Type:
        name = self.name(f"the type of '{column}'")
        self.depth += 1
        if self.depth > DEEPEST:
            raise DeclarationError(f"{self.place}: column '{column}': nested deeper than {DEEPEST}\n  flatten it")
        found = self.composed(name, column)
        self.depth -= 1
        return found

    def composed(self, name: str, column: str) -> Type:
        match name.lower():
            case scalar if scalar in NAMED:
                return NAMED[scalar]
            case decimal if decimal in DECIMAL_NAMES:
                return self.decimal()
            case "struct":
                return self.struct()
            case "array":
                self.expect("<")
                element = self.type(column)
                self.expect(">")
                return Array(element)
            case "map":
                return self.map(column)
        raise _refuse_type(name, f"{self.place}: column '{column}'")

    def decimal(self) -> Decimal:
        if not self.take("("):
            return Decimal(10, 0)
        precision = self.number()
        scale = self.number() if self.take(",") else 0
        self.expect(")")
        return Decimal(precision, scale)

    def struct(self) -> Struct:
        self.expect("<")
        members = [self.column()]
        while self.take(","):
            members.append(self.column())
        self.expect(">")
        return Struct(tuple(members))

    def map(self, column: str) -> Map:
        self.expect("<")
        key = self.type(column)
        if key != STRING:
            raise _refuse_key(key, f"{self.place}: column '{column}'")
        self.expect(",")
        value = self.type(column)
        self.expect(">")
        return Map(value)

    def take(self, wanted: str) -> bool:
        if self.at < len(self.tokens):
            token = self.tokens[self.at]
            if not token.quoted and not token.literal and token.text.lower() == wanted:
                self.at += 1
                return True
        return False

    def expect(self, wanted: str) -> None:
        if not self.take(wanted):
            raise self.wrong(f"'{wanted}'")

    def name(self, wanted: str) -> str:
        if self.at == len(self.tokens) or not self.tokens[self.at].is_name:
            raise self.wrong(wanted)
        self.at += 1
        return self.tokens[self.at - 1].text

    def number(self) -> int:
        if self.at == len(self.tokens) or not self.tokens[self.at].text.isdecimal():
            raise self.wrong("a whole number")
        self.at += 1
        return int(self.tokens[self.at - 1].text[:4])

    def wrong(self, wanted: str) -> DeclarationError:
        if self.at == len(self.tokens):
            found = "the end"
        else:
            token = self.tokens[self.at]
            found = f"'{token.text}' at character {token.start + 1}"
        return DeclarationError(
            f"{self.place}: expected {wanted}, found {found}\n  in: {self.text}\n"
            "  a column is a name, a type and perhaps 'not null'; a name that is no plain word stands in `backticks`"
        )


def _from_arrow(schema: pa.Schema, place: str) -> tuple[Column, ...]:
    return tuple(
        Column(field.name, _arrow_type(field.type, f"{place}: column '{field.name}'"), field.nullable)
        for field in schema
    )


def _arrow_type(found: pa.DataType, place: str) -> Type:
    kinds = pa.types
    by_arrow = {data_type: scalar for scalar, data_type in ARROW_SCALARS.items()}
    if found in by_arrow:
        return by_arrow[found]
    if kinds.is_timestamp(found) and found.tz is not None:
        return TIMESTAMP
    if kinds.is_large_string(found):
        return STRING
    if kinds.is_large_binary(found):
        return BINARY
    if kinds.is_decimal(found):
        return Decimal(found.precision, found.scale)
    if kinds.is_struct(found):
        return Struct(_from_arrow(pa.schema(list(found)), place))
    if kinds.is_map(found):
        if _arrow_type(found.key_type, place) != STRING:
            raise _refuse_key(found.key_type, place)
        return Map(_arrow_type(found.item_type, place))
    if kinds.is_list(found) or kinds.is_large_list(found):
        return Array(_arrow_type(found.value_type, place))
    raise DeclarationError(
        f"{place}: the Arrow type {found} is not supported\n  use one of: "
        f"{', '.join(str(data_type) for data_type in by_arrow)}, decimal128, struct, list, map of string"
    )
