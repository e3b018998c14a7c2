"""The one table of semantics: every operation that a checked expression can hold.

An operation is total and the same on every engine, bit for bit. What would be an error at run time (overflow, division
by zero, a bad cast, NaN, an infinity, an index out of range) is null. What can't be made equal everywhere is not here:
ln, exp and power differ in the last bit between mathematics libraries, text of doubles and timestamps differs in form,
and a double's decimal digits depend on how each engine prints it.

- `+ - *` and unary `-`: int and bigint give bigint. Decimals (with decimals or integers) are exact: `+ -` have one more
  whole digit than the larger operand, `*` has p1 + p2 + 1 digits; what could need over 38 digits is refused, or, of
  finished values, null if it does. With a double, everything is a double.
- `/` always gives a double. `%` takes integers and decimals and has the sign of the dividend. By zero both are null.
- `= == != <> < <= > >= between in`: integers and decimals are compared exactly, with a double as doubles; text by code
  point; timestamps and dates; booleans and binary only for equality. `in` takes literals.
- `and or not` are three-valued; `is [not] null`; `like` knows `%` and `_` and no escape, its pattern is a literal.
- `case if coalesce nullif least greatest` work on values of one common type; `least` and `greatest` skip nulls.
- `abs floor ceil round sqrt`: `floor` and `ceil` of a double give bigint; `round` is half away from zero, to digits
  only for decimals.
- `length lower upper trim ltrim rtrim substring left right concat || replace starts_with ends_with contains
  split_part`: characters are code points, only ASCII letters change case, only ASCII blanks are trimmed. Positions
  count from 1; a computed start below 1 or length below 0 is null. `split_part` counts from the end if negative and is
  '' beyond.
- `year month day dayofweek` of a timestamp or date, `hour minute second date_trunc to_date unix_seconds unix_millis
  unix_micros` of a timestamp: in UTC; weeks begin on Monday, `dayofweek` is 1 on Sunday.
- `a.b`, `a[0]`, `m['k']`, `size array_contains map_contains_key`: what is not there is null.
- `cast(x as t)`: null where it does not fit. Numbers to integers lose their fraction, to decimals they are rounded half
  away from zero. Text is read by the strict patterns of convert.py.
"""

from __future__ import annotations

from tarnbeck.expression import convert, logic, moment, nested, numeric, text
from tarnbeck.expression.operation import Operation

OPERATIONS: dict[str, Operation] = {
    **numeric.OPERATIONS,
    **logic.OPERATIONS,
    **text.OPERATIONS,
    **moment.OPERATIONS,
    **nested.OPERATIONS,
    **convert.OPERATIONS,
}
