"""The command reference, generated from the command line application."""

import inspect
from collections.abc import Iterator
from enum import Enum
from typing import Any

import typer

from site_pages.markup import code, table
from titer.cli.main import app


def page() -> str:
    """Return the page "Commands": every command with its arguments, options and defaults."""
    root = typer.main.get_command(app)
    title = ["# Commands", _help(root), "`titer COMMAND --help` prints the same in a terminal."]
    return "\n\n".join(
        [*title, *(text for name, command in _leaves(root, "titer") for text in _section(name, command))]
    )


def command_names() -> list[str]:
    """Return the full name of every command, such as ``titer data import``."""
    return [name for name, _ in _leaves(typer.main.get_command(app), "titer")]


# Typer brings its own copy of click, whose classes are private: commands and parameters are untyped here.
def _leaves(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Iterate over the commands below a group, or over the command itself."""
    below = getattr(command, "commands", None)
    if below is None:
        yield name, command
        return
    for part, child in below.items():
        yield from _leaves(child, f"{name} {part}")


def _section(name: str, command: Any) -> Iterator[str]:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option"]
    yield f"## {name}"
    yield _help(command)
    yield f"```text\n{' '.join([name, *map(_placeholder, arguments), *(['[OPTIONS]'] if options else [])])}\n```"
    if arguments:
        rows = [[code(_placeholder(param)), param.help or ""] for param in arguments]
        yield table(["argument", "description"], rows)
    if options:
        rows = [[code(_option(param)), param.help or "", _default(param)] for param in options]
        yield table(["option", "description", "default"], rows)
    if examples := _examples(command.epilog or ""):
        yield f"Examples:\n\n```sh\n{examples}\n```"


def _help(command: Any) -> str:
    return inspect.cleandoc(command.help or "")


def _examples(epilog: str) -> str:
    """Return the commands at the end of a help text."""
    return "\n".join(line.strip() for line in epilog.splitlines() if line.strip().startswith("titer "))


def _placeholder(param: Any) -> str:
    name: str = param.name.upper()
    return param.metavar or (name if param.required else f"[{name}]")


def _option(param: Any) -> str:
    names = ", ".join([*param.opts, *param.secondary_opts])
    return names if param.is_flag else f"{names} {param.metavar or _value_name(param)}"


def _value_name(param: Any) -> str:
    choices = getattr(param.type, "choices", None)
    if choices:
        return "|".join(str(choice.value if isinstance(choice, Enum) else choice) for choice in choices)
    names = {"str": "TEXT", "int": "INTEGER", "int range": "INTEGER", "float range": "NUMBER"}
    kind: str = param.type.name
    return names.get(kind, kind.upper())


def _default(param: Any) -> str:
    if param.required:
        return "required"
    value = param.default.value if isinstance(param.default, Enum) else param.default
    shown = "" if value is None or value == "" or isinstance(value, bool) or callable(value) else code(str(value))
    variable = f"environment variable {code(str(param.envvar))}" if param.envvar else ""
    return ", ".join(filter(None, [shown, variable]))
