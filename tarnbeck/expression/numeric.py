"""Arithmetic: bigint that overflows to null, exact decimals, doubles that are finite or null and never -0.0."""

from __future__ import annotations

import decimal
import math
import operator
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

from tarnbeck.expression.operation import Operation, both, plain
from tarnbeck.expression.tree import Call
from tarnbeck.schema import types
from tarnbeck.schema.types import Type

INT_MIN, INT_MAX = -(2**31), 2**31 - 1
LONG_MIN, LONG_MAX = -(2**63), 2**63 - 1

EXACT = decimal.Context(prec=120, rounding=ROUND_HALF_UP)
"""Wide enough that no operation on two decimals of 38 digits is ever rounded."""

BINARY = frozenset({0, 1})
FIRST = frozenset({0})


def bounded(value: int) -> int | None:
    """A bigint, or null if it does not fit."""
    return value if LONG_MIN <= value <= LONG_MAX else None


def finite(value: float) -> float | None:
    """A double as expressions know it: NaN and infinities are null, and there is one zero."""
    return value + 0.0 if math.isfinite(value) else None


def fitted(value: Decimal, to: types.Decimal) -> Decimal | None:
    """A decimal of exactly that type, rounded half up (away from zero), or null if it has too many digits."""
    result = EXACT.quantize(value, Decimal(1).scaleb(-to.scale))
    if not result:
        return result.copy_abs()
    return result if result.adjusted() < to.precision - to.scale else None


def _decimal_type(to: Type) -> types.Decimal:
    if not isinstance(to, types.Decimal):
        raise TypeError(f"an operation on decimals can't give {to}")
    return to


def _long(function: Callable[[int, int], int]) -> Callable[[Type], Callable[..., Any]]:
    return plain(lambda a, b: bounded(function(a, b)))


def _double(function: Callable[[float, float], float]) -> Callable[[Type], Callable[..., Any]]:
    return plain(lambda a, b: finite(function(a, b)))


def _decimal(function: Callable[[Decimal, Decimal], Decimal]) -> Callable[[Type], Callable[..., Any]]:
    def of(to: Type) -> Callable[[Decimal, Decimal], Decimal | None]:
        exact = _decimal_type(to)
        return lambda a, b: fitted(function(a, b), exact)

    return of


def _remainder(a: int, b: int) -> int | None:
    return int(math.copysign(1, a)) * (abs(a) % abs(b)) if b else None


def _decimal_remainder(to: Type) -> Callable[[Decimal, Decimal], Decimal | None]:
    exact = _decimal_type(to)
    return lambda a, b: fitted(EXACT.remainder(a, b), exact) if b else None


def _divide(a: float, b: float) -> float | None:
    return finite(a / b) if b else None


def _root(a: float) -> float | None:
    return finite(math.sqrt(a)) if a >= 0 else None


def _round(a: float) -> float:
    below = math.floor(abs(a))
    away = below + 1 if abs(a) - below >= 0.5 else below
    return math.copysign(float(away), a) + 0.0


def _to_whole(rounding: str) -> Callable[[Type], Callable[[Decimal], Decimal]]:
    return plain(lambda a: EXACT.add(a.quantize(Decimal(1), rounding=rounding, context=EXACT), 0))


def _spark_whole(function: str) -> str:
    # Spark's own floor and ceil of a double saturate at the ends of bigint instead of failing.
    return (
        "if({0} >= -9.223372036854775808E18D AND {0} < 9.223372036854775808E18D, "
        + function
        + "({0}), CAST(NULL AS BIGINT))"
    )


def _duckdb_product(call: Call, factors: Sequence[str]) -> str:
    first, result = _decimal_type(call.arguments[0].type), _decimal_type(call.type)
    wide = f"CAST({factors[0]} AS DECIMAL({result.precision},{first.scale}))"
    return f"CAST({wide} * {factors[1]} AS DECIMAL({result.precision},{result.scale}))"


OPERATIONS = {
    "add_bigint": Operation(_long(operator.add), "try_add({0}, {1})", "TRY({0} + {1})"),
    "subtract_bigint": Operation(_long(operator.sub), "try_subtract({0}, {1})", "TRY({0} - {1})"),
    "multiply_bigint": Operation(_long(operator.mul), "try_multiply({0}, {1})", "TRY({0} * {1})"),
    # DuckDB calls the smallest bigint modulo -1 an overflow; everyone else says 0.
    "remainder_bigint": Operation(
        plain(_remainder), "try_mod({0}, {1})", "CASE WHEN {1} = -1 THEN {0} - {0} ELSE {0} % nullif({1}, 0) END"
    ),
    "negate_bigint": Operation(plain(lambda a: bounded(-a)), "try_subtract(0L, {0})", "TRY(CAST(0 AS BIGINT) - {0})"),
    "abs_bigint": Operation(
        plain(lambda a: bounded(abs(a))), "abs(nullif({0}, -9223372036854775808L))", "TRY(abs({0}))"
    ),
    "add_double": Operation(_double(operator.add), "({0} + {1})", "({0} + {1})", unsafe=True, carries=BINARY),
    "subtract_double": Operation(_double(operator.sub), "({0} - {1})", "({0} - {1})", unsafe=True, carries=BINARY),
    "multiply_double": Operation(_double(operator.mul), "({0} * {1})", "({0} * {1})", unsafe=True, carries=BINARY),
    "divide_double": Operation(
        plain(_divide),
        "({0} / nullif({1}, 0.0D))",
        "({0} / nullif({1}, CAST(0 AS DOUBLE)))",
        unsafe=True,
        carries=FIRST,
    ),
    "negate_double": Operation(plain(lambda a: finite(-a)), "(- {0})", "(- {0})", unsafe=True, carries=FIRST),
    "abs_double": both(abs, "abs({0})"),
    "sqrt_double": Operation(plain(_root), "sqrt({0})", "sqrt({0})", unsafe=True),
    "round_double": Operation(plain(_round), "(round({0}) + 0.0D)", "(round({0}) + CAST(0 AS DOUBLE))"),
    "floor_double": Operation(
        plain(lambda a: bounded(math.floor(a))), _spark_whole("floor"), "TRY_CAST(floor({0}) AS BIGINT)"
    ),
    "ceil_double": Operation(
        plain(lambda a: bounded(math.ceil(a))), _spark_whole("ceil"), "TRY_CAST(ceil({0}) AS BIGINT)"
    ),
    # DuckDB squeezes results of two decimals of up to 18 digits into 18 again, so one operand is made wide first.
    "add_decimal": Operation(_decimal(EXACT.add), "({0} + {1})", "CAST(CAST({0} AS {type}) + {1} AS {type})"),
    "subtract_decimal": Operation(_decimal(EXACT.subtract), "({0} - {1})", "CAST(CAST({0} AS {type}) - {1} AS {type})"),
    "multiply_decimal": Operation(_decimal(EXACT.multiply), "({0} * {1})", _duckdb_product),
    "remainder_decimal": Operation(_decimal_remainder, "try_mod({0}, {1})", "CAST({0} % nullif({1}, 0) AS {type})"),
    "negate_decimal": both(EXACT.minus, "(- {0})"),
    "abs_decimal": both(EXACT.abs, "abs({0})"),
    "floor_decimal": Operation(_to_whole(ROUND_FLOOR), "floor({0})", "CAST(floor({0}) AS {type})"),
    "ceil_decimal": Operation(_to_whole(ROUND_CEILING), "ceil({0})", "CAST(ceil({0}) AS {type})"),
}
