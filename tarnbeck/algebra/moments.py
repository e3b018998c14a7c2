"""The spread of numbers: count, mean and the sum of squared distances from it, merged without cancellation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from tarnbeck.algebra.state import RELATIVE, Dialect, Event, Raw, State
from tarnbeck.schema.types import Physical


@dataclass(frozen=True)
class Spread(State):
    """Count, mean and sum of squared distances from the mean, of numbers as doubles."""

    equality: ClassVar[Literal["bits", "relative", "bound"]] = "relative"

    @property
    def fields(self) -> tuple[Physical, ...]:
        return (Physical.INT, Physical.REAL, Physical.REAL)

    def equal(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> bool:
        if None in (*a, *b) or a[0] != b[0]:
            return a == b
        (count, mean, squares), (_, other, others) = a, b
        scale = max(squares + count * mean * mean, others + count * other * other)  # type: ignore[operator]
        if not math.isfinite(scale):  # type: ignore[arg-type]
            # Beyond what a double holds, the order of adding decides between a huge number and infinity.
            return True
        far = RELATIVE * math.sqrt(scale / count)  # type: ignore[operator]
        return bool(abs(mean - other) <= far and abs(squares - others) <= RELATIVE * scale)  # type: ignore[operator]

    def prepare(self, event: Event) -> tuple[Raw, ...]:
        return (None,) * 3 if event.value is None else (1, float(event.value), 0.0)

    def merge(self, a: tuple[Raw, ...], b: tuple[Raw, ...]) -> tuple[Raw, ...]:
        if a[0] is None or b[0] is None:
            return b if a[0] is None else a
        (n, mean, squares), (m, other, others) = a, b
        apart, count = other - mean, n + m  # type: ignore[operator]
        return count, mean + apart * m / count, squares + others + apart * apart * n * m / count  # type: ignore[operator]

    def aggregate(self, arguments: Sequence[str], dialect: Dialect) -> Sequence[str]:
        (argument,) = arguments
        number = f"CAST({argument} AS DOUBLE)"
        return (f"count({argument})", f"avg({number})", f"var_pop({number})")

    def regroup(self, fields: Sequence[str], dialect: Dialect) -> Sequence[str]:
        n, mean, squares = fields
        gathered = {
            "spark": f"collect_list(named_struct('n', {n}, 'm', {mean}))",
            "duckdb": f"list(struct_pack(n := {n}, m := {mean}))",
        }
        return (
            f"sum({n})",
            f"sum({n} * {mean})",
            f"sum({squares})",
            f"{gathered[dialect]} FILTER (WHERE {n} IS NOT NULL)",
        )

    def unpack(self, results: Sequence[str], dialect: Dialect, *, regrouped: bool) -> Sequence[str]:
        if not regrouped:
            n, mean, variance = results
            count = f"CAST(nullif({n}, 0) AS BIGINT)"
            return (count, mean, f"{variance} * {n}")
        n, total, squares, parts = results
        mean = f"({total} / {n})"
        # Each part's mean against the common one: sums of squares alone would lose the digits that matter.
        between = {
            "spark": f"aggregate({parts}, CAST(0 AS DOUBLE), (a, p) -> a + p.n * power(p.m - {mean}, 2))",
            "duckdb": f"list_sum(list_transform({parts}, lambda p: p.n * power(p.m - {mean}, 2)))",
        }
        return (f"CAST({n} AS BIGINT)", mean, f"{squares} + {between[dialect]}")
