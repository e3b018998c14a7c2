"""SQL text to sqlglot's tree: every function is anonymous, so that no dialect's meaning slips in."""

from __future__ import annotations

from sqlglot import exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError

from tarnbeck.expression.tree import ExpressionError

LONGEST = 10_000


class _Plain(Dialect):
    class Tokenizer(tokens.Tokenizer):
        IDENTIFIERS = ['"', "`"]

    class Parser(parser.Parser):
        ARRAY_CONSTRUCTORS = {}
        FUNCTIONS = {}
        FUNCTION_PARSERS = {"CAST": parser.Parser.FUNCTION_PARSERS["CAST"]}
        NO_PAREN_FUNCTIONS = {}
        NO_PAREN_FUNCTION_PARSERS = {"CASE": parser.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}


_PLAIN = _Plain()


def parse(text: str) -> exp.Expr:
    """The one expression that the text holds."""
    if len(text) > LONGEST:
        raise ExpressionError(f"the expression is too long: {len(text)} characters, at most {LONGEST}")
    if "\0" in text:
        raise ExpressionError("the expression holds a NUL character")
    try:
        found = _PLAIN.parser().parse_into(exp.Condition, _PLAIN.tokenize(text), text)
    except TokenError as error:
        raise ExpressionError("syntax error", "a quote or a comment is not closed") from error
    except ParseError as error:
        raise _syntax_error(text, error) from error
    except RecursionError as error:
        raise ExpressionError("the expression is nested too deeply") from error
    if len(found) != 1 or found[0] is None:
        raise ExpressionError("expected one expression", f"found {len(found)}" if text.strip() else "found nothing")
    return found[0]


def _syntax_error(text: str, error: ParseError) -> ExpressionError:
    first = error.errors[0]
    line, column = first.get("line") or 1, first.get("col") or 1
    shown = text.splitlines()[line - 1] if text.strip() else ""
    word = first.get("highlight") or ""
    start = max(column - len(word), 0)
    return ExpressionError(
        f"syntax error near '{word}' at line {line}, character {start + 1},",
        shown,
        " " * start + "^" * max(len(word), 1),
    )
