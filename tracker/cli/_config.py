"""`config`, `completion`, `errors`: how the tool is set up, and what its exit codes mean."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click
from click.core import ParameterSource

from tracker.cli._boundary import PROGRAM
from tracker.cli._options import json_option, store_option
from tracker.cli._output import emit_json, print_table, say
from tracker.cli._verbs import Verbs

if TYPE_CHECKING:
    from tracker._settings import Setting


@contextmanager
def settings_applied(settings: "Sequence[Setting]") -> Generator[None]:
    """Let the files' settings hold as environment variables while a verb runs."""
    import os

    from tracker._settings import variables

    said = variables(settings)
    before = {name: os.environ.get(name) for name in said}
    os.environ.update(said)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@click.group(cls=Verbs)
def config() -> None:
    """Settings, and where each comes from.

    What the command line says holds before the environment, that before the nearest `layoutledger.toml` in
    the working directory or a folder above it, that before `layoutledger/config.toml` in the user's
    configuration folder ($XDG_CONFIG_HOME or ~/.config), and that before the default.
    """


@config.command("show")
@store_option
@json_option
@click.pass_context
def show_config(ctx: click.Context, store: Path, as_json: bool) -> None:
    """Show each setting: its value, where it comes from, and its environment variable.

    \b
    Example: layoutledger config show --json
    """
    from dataclasses import replace

    from tracker._settings import NAMES

    settings = cast("tuple[Setting, ...]", ctx.find_root().obj)
    if ctx.get_parameter_source("store") is ParameterSource.COMMANDLINE:
        settings = tuple(
            replace(each, value=str(store), source="command line") if each.name == "store" else each
            for each in settings
        )
    if as_json:
        emit_json(
            [
                {
                    "name": each.name,
                    "value": each.value,
                    "source": each.source,
                    "variable": NAMES[each.name].variable,
                }
                for each in settings
            ]
        )
        return
    rows = [(e.name, e.value, e.source, NAMES[e.name].variable, NAMES[e.name].help) for e in settings]
    print_table("Settings", ("name", "value", "from", "variable", "for"), rows)


INSTALLING = {
    "bash": 'eval "$(layoutledger completion bash)"    # in ~/.bashrc; bash 4.4 or later',
    "zsh": 'eval "$(layoutledger completion zsh)"    # in ~/.zshrc, after compinit',
    "fish": "layoutledger completion fish > ~/.config/fish/completions/layoutledger.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(list(INSTALLING)))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete verbs, options, campaigns, cells, versions and digests.

    \b
    Examples:
      eval "$(layoutledger completion bash)"
      layoutledger completion fish > ~/.config/fish/completions/layoutledger.fish
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE")
    click.echo(f"# {INSTALLING[shell]}")
    click.echo(script.source_template % script.source_vars())


@click.command()
@click.option("--messages", is_flag=True, help="List every message that the tool can give, and its place.")
@json_option
def errors(messages: bool, as_json: bool) -> None:
    """Say what each exit code means; with --messages, what every error may say.

    \b
    Example: layoutledger errors
    """
    from tracker._error_pages import exit_codes, read_messages

    if messages:
        found = read_messages()
        if as_json:
            emit_json([{"code": m.code, "error": m.error, "where": m.where, "text": m.text} for m in found])
            return
        print_table("Messages", ("code", "where", "text"), [(m.code, m.where, m.text) for m in found])
        return
    codes = exit_codes()
    if as_json:
        emit_json([{"code": c.code, "error": c.name, "meaning": c.meaning} for c in codes])
        return
    print_table("Exit codes", ("code", "error", "meaning"), [(c.code, c.name, c.meaning) for c in codes])
    say("Errors are one line or more on standard error and begin with `error:`")
