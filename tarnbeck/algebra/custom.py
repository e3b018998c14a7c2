"""Aggregates that users write: a class with a state, and how it is prepared, merged and finished."""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any, ClassVar

import pyarrow as pa

from tarnbeck.algebra.aggregate import Aggregate, Arguments, Finish, Value, raw, reader
from tarnbeck.algebra.packed import PackedRows, read, tuples, write
from tarnbeck.algebra.state import RELATIVE, Raw, State
from tarnbeck.errors import DeclarationError, TarnbeckError, UsageError, unknown
from tarnbeck.schema import ddl, types
from tarnbeck.schema.strict import shorten
from tarnbeck.schema.types import Array, Column, Decimal, ScalarType, Type

CUSTOM: dict[str, type[Custom]] = {}
"""The classes that this process has loaded, by the names that definitions call them by."""
CODE = "_code"
"""The option by which a definition tells the code of a class."""
LONGEST = 300
"""Characters of a state that an error shows."""


class Custom(ABC):
    """An aggregate of your own: subclass it, and use it in `select` like any other.

    `state` names and types what is kept, as SQL; `returns` is the type of the answer. Attributes with other names are
    options, which a keyword sets for one use. `prepare` gets the value of each column, none of them null, and gives the
    state of one event; `merge` two states, in no certain order; `finish` the merged one. If there is a `prepare_many`,
    it gets whole columns as Arrow arrays instead and gives the state of all their events.

    A view keeps states that this code made, so the code of a class must not change: give a changed one another name.
    """

    name: ClassVar[str]
    state: ClassVar[str]
    returns: ClassVar[str]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
        CUSTOM[cls.name] = cls

    def __init__(self, *columns: str, where: str | None = None, **options: Any) -> None:
        self.columns, self.where, self.options = columns, where, options
        for attribute, hint in _SAID.items():
            if not isinstance(getattr(self, attribute, None), str):
                raise DeclarationError(f"aggregate '{self.name}': it has no {attribute}\n  {hint}")
        known = [name for name, value in _attributes(type(self)) if name not in _OWN and not callable(value)]
        for name, value in options.items():
            if name not in known:
                raise DeclarationError(unknown(self.name, "option", name, known, "it"))
            if not isinstance(value, (bool, int, float, str)):
                raise DeclarationError(f"{self.name}: bad {name} {value!r}\n  expected a number, a text, True or False")
            setattr(self, name, value)

    @abstractmethod
    def prepare(self, *values: Any) -> tuple[Any, ...]: ...

    @abstractmethod
    def merge(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> tuple[Any, ...]: ...

    @abstractmethod
    def finish(self, state: tuple[Any, ...]) -> Any: ...

    def equal(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
        """Whether two states of the same events may both be right: doubles may differ in their last digits."""
        return all(_near(x, y) for x, y in zip(a, b, strict=True))


_OWN = ("name", "state", "returns")
_SAID = {
    "state": "say what it keeps, such as state = 'total bigint'",
    "returns": "say of which type it is, such as returns = 'bigint'",
}
"""What a class must say, though not one that is only there for others to be made of it."""


def _attributes(cls: type) -> Iterator[tuple[str, Any]]:
    for each in cls.__mro__[: -len(Custom.__mro__)]:
        yield from ((name, value) for name, value in vars(each).items() if not name.startswith("_"))


def _near(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=RELATIVE, abs_tol=RELATIVE)
    return bool(a == b)


def code(cls: type[Custom]) -> str:
    """A hash of what a class says: states that other code made must not be merged by it."""
    told = []
    for name, value in sorted(_attributes(cls), key=lambda each: each[0]):
        if name != "name":
            told.append(f"{name}={_source(value) if isinstance(value, FunctionType) else repr(value)}")
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


def _source(function: FunctionType) -> str:
    try:
        return inspect.getsource(function)
    except OSError:
        # Typed in by hand, it has no source that could be found again.
        return repr((function.__code__.co_code, function.__code__.co_consts))


@dataclass(frozen=True)
class CustomState(PackedRows):
    """What a user's class keeps."""

    custom: Custom = field(compare=False)
    identity: tuple[Any, ...]
    arguments: Arguments

    @functools.cached_property
    def _columns(self) -> tuple[Column, ...]:
        return ddl.parse(self.custom.state, place=self.custom.name).columns

    def pack(self, values: pa.Array) -> bytes:
        many: Callable[..., Any] | None = getattr(self.custom, "prepare_many", None)
        if many is not None:
            columns = zip(values.flatten(), self.arguments, strict=True)
            return self._write(many(*(_logical(column, type_) for column, type_ in columns)), "prepare_many")
        readers = [reader(type_) for type_ in self.arguments]
        prepare, merge = self.custom.prepare, self.custom.merge
        given = ((see(raw) for see, raw in zip(readers, row, strict=True)) for row in tuples(values))
        # Each by itself: what does not fit might fit once it is merged, or not, as batches happen to be cut.
        return self._write(functools.reduce(merge, (self._fit(prepare(*each), "prepare") for each in given)), "merge")

    def unite(self, states: Sequence[bytes]) -> bytes:
        return self._write(functools.reduce(self.custom.merge, map(self.read, states)), "merge")

    def _write(self, state: Any, made_by: str) -> bytes:
        return write(self._raw(state, made_by))

    def _fit(self, state: Any, made_by: str) -> tuple[Any, ...]:
        self._raw(state, made_by)
        return state  # type: ignore[no-any-return]

    def _raw(self, state: Any, made_by: str) -> list[Any]:
        if not isinstance(state, tuple) or len(state) != len(self._columns):
            raise UsageError(
                f"aggregate '{self.custom.name}': {made_by} gave {state!r}\n  expected a tuple of: {self.custom.state}"
            )
        found = []
        for value, column in zip(state, self._columns, strict=True):
            try:
                found.append(_raw(value, column.type))
            except (TypeError, ValueError, ArithmeticError):
                raise UsageError(
                    f"aggregate '{self.custom.name}': {made_by} gave {shorten(repr(value))} for its state "
                    f"'{column.name}'\n  expected {column.type}"
                ) from None
        return found

    def read(self, packed: bytes) -> tuple[Any, ...]:
        return tuple(_value(found, column.type) for found, column in zip(read(packed), self._columns, strict=True))

    def equal(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> bool:
        if a[0] is None or b[0] is None:
            return a == b
        return self.custom.equal(self.read(a[0]), self.read(b[0]))  # type: ignore[arg-type]


def _raw(value: Any, type_: Type) -> Any:
    """The raw form of a value, or ValueError if another one would be read back."""
    if isinstance(type_, Array):
        return None if value is None else [_raw(each, type_.element) for each in value]
    found = raw(value, type_)  # type: ignore[arg-type]
    # A double may be no number (NaN), which is not equal even to itself.
    if type_ == types.DOUBLE and isinstance(value, (int, float)):
        return found
    if value is not None and (type_ == types.DOUBLE or reader(type_)(found) != value):  # type: ignore[arg-type]
        raise ValueError
    return found


def _value(found: Any, type_: Type) -> Any:
    if isinstance(type_, Array):
        return None if found is None else [_value(each, type_.element) for each in found]
    if found is not None and type_ == types.BINARY:
        found = found.encode("latin-1")
    return reader(type_)(found)  # type: ignore[arg-type]


def _logical(column: pa.Array, type_: ScalarType) -> pa.Array:
    """A column of raw values as an Arrow column of the declared type."""
    if isinstance(type_, Decimal):
        return column.cast(pa.decimal128(38, 0)).view(pa.decimal128(38, type_.scale))
    if type_ == types.DATE:
        return column.cast(pa.int32()).cast(pa.date32())
    return column.cast(ddl.arrow(type_))


@dataclass(frozen=True)
class UserDefined(Aggregate):
    """A user's class among the aggregates of a view."""

    column: str | None = field(default=None, init=False)
    custom: Custom = field(compare=False)
    identity: tuple[Any, ...] = field(init=False)

    def __post_init__(self) -> None:
        custom = self.custom
        object.__setattr__(self, "where", custom.where)
        object.__setattr__(
            self, "identity", (custom.name, code(type(custom)), custom.columns, *sorted(custom.options.items()))
        )

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.custom.name

    @property
    def columns(self) -> tuple[str, ...]:
        return self.custom.columns

    def options(self) -> dict[str, Any]:
        return {**self.custom.options, CODE: code(type(self.custom))}

    def result(self, arguments: Arguments) -> Type:
        if not arguments:
            raise self.refuse(arguments, "a column")
        place = f"aggregate '{self.name}'"
        for column in ddl.parse(self.custom.state, place=place):
            inner = column.type.element if isinstance(column.type, Array) else column.type
            if not isinstance(inner, (types.Scalar, Decimal)):
                raise DeclarationError(f"{place}: state: '{column.name}': expected single values or arrays of them")
        (column,) = ddl.parse(f"result {self.custom.returns}", place=place)
        return column.type

    def states(self, arguments: Arguments) -> tuple[State, ...]:
        return (self._kept(arguments),)

    def _kept(self, arguments: Arguments) -> CustomState:
        first, *others = (type_.physical for type_ in arguments)
        return CustomState(first, tuple(others), self.custom, self.identity, arguments)

    def finish(self, arguments: Arguments) -> Finish:
        state, finish = self._kept(arguments), self.custom.finish

        def finished(states: tuple[tuple[Raw, ...], ...]) -> Value:
            if states[0][0] is None:
                return None
            found = state.read(states[0][0])  # type: ignore[arg-type]
            try:
                return finish(found)
            except Exception as error:
                raise TarnbeckError(
                    f"aggregate '{self.name}': finish failed: {type(error).__name__}: {error}\n"
                    f"  its state was {shorten(repr(found), LONGEST)}\n"
                    "  it must give a value, or None, for every state"
                ) from error

        return finished


def again(name: str, columns: Sequence[str], options: Mapping[str, Any]) -> UserDefined:
    """The aggregate of a definition, by the class of that name that this process has loaded."""
    cls = CUSTOM.get(name)
    if cls is None:
        raise UsageError(
            f"aggregate '{name}': the class that it is made by is not loaded here\n"
            "  a node loads it when it starts (tarnbeck up APP.py); in a program of yours, import that file first"
        )
    given = dict(options)
    if given.pop(CODE) != code(cls):
        raise DeclarationError(
            f"aggregate '{name}': its code has changed, and a view keeps states that the former code made\n"
            "  give the changed class another name, and keep the former one as long as a view needs it"
        )
    return UserDefined(cls(*columns, **given))


def wrapped(outputs: Mapping[str, Any]) -> dict[str, Any]:
    """Outputs with users' classes made aggregates."""
    return {name: UserDefined(output) if isinstance(output, Custom) else output for name, output in outputs.items()}
