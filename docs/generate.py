"""Makes the reference pages and the dashboard for Grafana: run `python -m docs.generate` after a change of the code."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

import tarnbeck
from docs import dashboard
from tarnbeck import errors, testing
from tarnbeck.algebra.aggregate import Aggregate
from tarnbeck.cli.main import application
from tarnbeck.log.produce import Sent
from tarnbeck.serve import openapi
from tarnbeck.serve.answer import Answer
from tarnbeck.serve.changes import Update
from tarnbeck.serve.client import Client
from tarnbeck.serve.follow import Live
from tarnbeck.serve.table import SqlAnswer
from tarnbeck.testing import laws

HERE = Path(__file__).parent
MADE = "<!-- Made from the code by `python -m docs.generate`: change the code, not this page. -->"


def cli() -> str:
    """Every command with its arguments, options and example."""
    root = typer.main.get_command(application())
    same = "`tarnbeck COMMAND --help` shows the same. What exit codes mean: [trust.md](trust.md#logs-and-exit-codes)."
    lines = ["# Command reference", "", MADE, "", same, ""]
    for name, command in _commands(root, "tarnbeck"):
        lines += [f"## {name}", "", *_described(command.help), *_usage(name, command), *_parameters(command)]
    return "\n".join(lines).rstrip() + "\n"


def _commands(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix} {name}")
        else:
            yield f"{prefix} {name}", command


def _described(text: str | None) -> list[str]:
    return [*inspect.cleandoc(text or "").splitlines(), ""]


def _usage(name: str, command: Any) -> list[str]:
    arguments = [_metavar(each) for each in command.params if each.param_type_name == "argument"]
    example = (command.epilog or "").removeprefix("Example: ")
    return ["```text", " ".join([name, "[OPTIONS]", *arguments]), "```", "", f"Example: `{example}`", ""]


def _metavar(parameter: Any) -> str:
    named = parameter.metavar or parameter.name.upper()
    return named if parameter.required or named.startswith("[") else f"[{named}]"


def _parameters(command: Any) -> list[str]:
    rows = [_row(each) for each in command.params if each.name != "help"]
    return ["| argument or option | what |", "|---|---|", *rows, ""] if rows else []


def _row(parameter: Any) -> str:
    option = parameter.param_type_name == "option"
    name = ", ".join(parameter.opts) if option else _metavar(parameter)
    if option and not parameter.is_flag:
        name += " " + (parameter.metavar or parameter.opts[0].strip("-").upper())
    what = parameter.help or ""
    default = parameter.default
    if option and default not in (None, False, ()) and not callable(default):
        what += f" Default: `{default}`."
    if parameter.envvar:
        what += f" Environment: `{parameter.envvar}`."
    return f"| `{_cell(name)}` | {_cell(what)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").strip()


def api() -> str:
    """The names that users import, what they get from them, and the HTTP endpoints."""
    lines = ["# API reference", "", MADE, "", "## Python: tarnbeck", "", "`import tarnbeck as tb`", ""]
    for name in tarnbeck.__all__:
        lines += _documented(f"tb.{name}", getattr(tarnbeck, name))
    lines += ["## Python: what you get", ""]
    for kind in (Client, Answer, Live, Update, SqlAnswer, Sent):
        lines += _documented(kind.__name__, kind)
    lines += ["## Python: tarnbeck.testing", ""]
    for name in testing.__all__:
        lines += _documented(f"testing.{name}", getattr(testing, name))
    lines += _documented("testing.laws.check", laws.check)
    lines += ["## Python: errors", "", "All in `tarnbeck.errors`; the number is the exit code of the command line.", ""]
    lines += ["| error | exit code | when |", "|---|---|---|", *map(_error, _errors()), ""]
    return "\n".join([*lines, *_http()]).rstrip() + "\n"


def _documented(name: str, thing: Any) -> list[str]:
    lines = [f"### {name}", "", *_signature(name, thing), *_text(thing)]
    if inspect.isclass(thing) and not issubclass(thing, (Aggregate, Exception)):
        for member, value in _members(thing):
            lines += _member(member, value)
        lines.append("")
    return lines


def _text(thing: Any) -> list[str]:
    """The docstring; its examples, which the package's own tests run, stand in blocks."""
    lines: list[str] = []
    inside = False
    for line in (inspect.getdoc(thing) or "").splitlines():
        starts = line.startswith(">>>")
        if starts and not inside:
            lines.append("```text")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return [*lines, *(["```"] if inside else []), ""]


def _signature(name: str, thing: Any) -> list[str]:
    if inspect.isclass(thing) and issubclass(thing, Exception):
        return []
    return ["```text", f"{name}{_shown(thing)}", "```", ""]


def _shown(thing: Any) -> str:
    """The signature as one writes it: annotations without the quotes that postponed ones have."""
    signature = inspect.signature(thing)
    kept = [_plain(each) for each in signature.parameters.values() if each.name not in ("self", "cls")]
    gives = "" if inspect.isclass(thing) else f" -> {signature.return_annotation}"
    return str(signature.replace(parameters=kept, return_annotation=signature.empty)) + gives


class _Bare(str):
    """A text that stands in a signature without quotes."""

    __slots__ = ()

    __repr__ = str.__str__


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    return parameter.replace(annotation=_Bare(parameter.annotation))


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties, those of own base classes too."""
    seen: set[str] = set()
    for owner in kind.__mro__:
        if not owner.__module__.startswith("tarnbeck"):
            continue
        for name, value in vars(owner).items():
            if not name.startswith("_") and name not in seen and _told(value):
                seen.add(name)
                yield name, value


def _told(value: Any) -> bool:
    return isinstance(value, (property, classmethod)) or inspect.isfunction(value)


def _member(name: str, value: Any) -> list[str]:
    if isinstance(value, property):
        shown, text = name, inspect.getdoc(value)
    else:
        function = value.__func__ if isinstance(value, classmethod) else value
        shown, text = f"{name}{_shown(function)}", inspect.getdoc(function)
    first = (text or "").split("\n\n")[0].replace("\n", " ")
    return [f"- `{shown}`" + (f": {first}" if first else "")]


def _errors() -> list[type[errors.TarnbeckError]]:
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    return [kind for kind in kinds if issubclass(kind, errors.TarnbeckError)]


def _error(kind: type[errors.TarnbeckError]) -> str:
    return f"| `{kind.__name__}` | {kind.exit_code} | {_cell(inspect.getdoc(kind) or '')} |"


def _http() -> Iterator[str]:
    document = openapi.document()
    yield from ("## HTTP", "", document["info"]["description"], "")
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield from (f"### {method.upper()} {path}", "", f"{operation['summary']}. {operation['description']}", "")
            yield from ("```text", operation["x-example"], "```", "")
            if operation.get("parameters"):
                yield from ("| parameter | what |", "|---|---|")
                yield from (f"| `{each['name']}` | {_cell(each['description'])} |" for each in operation["parameters"])
                yield ""
            yield from ("| status | when |", "|---|---|")
            yield from (
                f"| {status} | {_cell(each['description'])} |" for status, each in operation["responses"].items()
            )
            yield ""


PAGES = {"cli.md": cli, "api.md": api}


def main() -> None:
    for name, make in {**PAGES, dashboard.FILE: dashboard.dashboard}.items():
        (HERE / name).write_text(make(), encoding="utf-8")
        sys.stdout.write(f"docs/{name}\n")


if __name__ == "__main__":
    main()
