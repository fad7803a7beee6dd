"""The reference pages, made from the code: command line, events, views, files, cost terms.

python docs/make_reference.py        # or `make docs`: writes docs/reference, a test compares
"""

import sys
import tempfile
from collections.abc import Iterable, Iterator
from inspect import getdoc
from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

from harness._campaign import _Block, _CampaignFile, campaign_names, load_campaign
from harness._workload import KINDS
from harness.model._presets import PRESETS
from planner import TERMS, WORK_PER_US
from schemas import PAYLOADS, AdaptiveStop, CoefficientBundle, Manifest, Statement
from schemas._jsonschema import schema_files
from tracker.cli import cli
from tracker.warehouse import Warehouse

FOLDER = Path(__file__).parent / "reference"
COMMON = {"store", "as_json", "help"}


def table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table; cells on one line."""
    head = list(columns)
    lines = [head, ["---"] * len(head), *(list(map(_cell, row)) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def page(title: str, intro: str, parts: Iterable[str]) -> str:
    """A page with its notice."""
    notice = "<!-- Made by docs/make_reference.py; change the code, then run `make docs`. -->"
    return "\n".join([f"# {title}\n", notice, "", intro.strip(), "", *parts]).rstrip() + "\n"


def command_line() -> str:
    """Every verb: usage, what it does, its example, its options."""
    intro = """
`--store DIR` names the ledger's folder, `--json` prints one JSON document; verbs that take them say so in
their usage. `layoutledger VERB --help` says the same as this page. Exit codes: [Errors](../errors.md).
"""
    parts = [part for path, command in _commands(cli, ()) for part in _command(path, command)]
    return page("Command line", intro, parts)


def _commands(
    command: click.Command, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if path and not command.hidden:
        yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            if found is not None and not found.hidden:
                yield from _commands(found, (*path, name))


def _command(path: tuple[str, ...], command: click.Command) -> Iterator[str]:
    words = " ".join(("layoutledger", *path))
    yield f"{'#' * (len(path) + 1)} {words}\n"
    context = click.Context(command, info_name=words)
    yield f"`{' '.join([words, *command.collect_usage_pieces(context)])}`\n"
    for block in (command.help or "").split("\n\n"):
        yield _help_block(block)
    options = [
        (_option_names(option), option.help or "", _default(option, context))
        for option in command.params
        if isinstance(option, click.Option) and option.name not in COMMON
    ]
    if options:
        yield table(("option", "what", "default"), options)


def _help_block(block: str) -> str:
    """A paragraph; examples, which click marks with a backspace, as code."""
    lines = [line.strip() for line in block.strip().splitlines()]
    if not lines or lines[0] != "\b":
        return " ".join(lines) + "\n"
    examples = [line.removeprefix("Examples:").removeprefix("Example:").strip() for line in lines[1:]]
    shown = [f"`{example}`" for example in examples if example]
    return f"Example: {shown[0]}\n" if len(shown) == 1 else "\n".join(f"- {each}" for each in shown) + "\n"


def _option_names(option: click.Option) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    return names if option.is_flag else f"{names} {option.make_metavar(click.Context(cli)).strip('[]')}"


def _default(option: click.Option, context: click.Context) -> str:
    if option.required:
        return "required"
    shown = option.show_default
    if isinstance(shown, str):
        return f"({shown})"
    default = option.get_default(context) if shown else None
    return "" if default is None or callable(default) else f"`{default}`"


def events() -> str:
    """Every event type with its data."""
    intro = """
One JSON line each: `id` (ULID), `type`, `version` of the type, `source`, `subject`, `time` (UTC, to the
microsecond), `data`, `seq`, `prev` (digest of the line before), `digest` (sha256 of the line without it).
What `data` holds, by type:
"""
    parts: list[str] = []
    for name, record in sorted(PAYLOADS.items()):
        parts += [f"## {name}\n", f"{_first_paragraph(record)}\n", fields(record)]
    return page("Events", intro, parts)


def fields(record: type[BaseModel]) -> str:
    """The fields of a record: name, type, meaning."""
    schema = record.model_json_schema(by_alias=True)
    needed = set(schema.get("required", ()))
    rows = [
        (
            f"`{name}`",
            _type(part),
            part.get("description", ""),
            "required" if name in needed else f"`{part['default']}`" if "default" in part else "",
        )
        for name, part in schema.get("properties", {}).items()
    ]
    return table(("field", "type", "what", "default"), rows)


def _type(part: dict[str, Any]) -> str:
    if "$ref" in part:
        return part["$ref"].rpartition("/")[2].strip("_")
    if "const" in part:
        return f"`{part['const']}`"
    if "enum" in part:
        return ", ".join(f"`{value}`" for value in part["enum"])
    if "anyOf" in part:
        return " or ".join(_type(each) for each in part["anyOf"])
    if part.get("type") == "array":
        items = part.get("items") or (part.get("prefixItems") or [{}])[0]
        return f"list of {_type(items)}"
    if part.get("type") == "object" and isinstance(part.get("additionalProperties"), dict):
        return f"map to {_type(part['additionalProperties'])}"
    return part.get("type", "any")


def _first_paragraph(record: type) -> str:
    return " ".join((getdoc(record) or "").split("\n\n")[0].split())


def views() -> str:
    """Every documented view with its columns, as the warehouse of an empty ledger describes them."""
    intro = """
`layoutledger sql "from VIEW"` reads them; names are stable. [Ten questions](../questions.md) shows them at
work.
"""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "log").mkdir()
        warehouse = Warehouse(Path(folder))
        named = "not internal and not starts_with({}, '_')"
        found = warehouse.query(
            f"select view_name, comment from duckdb_views() where {named.format('view_name')} order by all"
        ).records()
        columns = warehouse.query(
            "select table_name, column_name, data_type, comment from duckdb_columns() "
            f"where {named.format('table_name')} order by table_name, column_index"
        ).records()
    parts: list[str] = []
    for view in found:
        name = view["view_name"]
        rows = [
            (f"`{column['column_name']}`", _short(column["data_type"]), column["comment"])
            for column in columns
            if column["table_name"] == name
        ]
        parts += [f"## {name}\n", f"{view['comment']}.\n", table(("column", "type", "what"), rows)]
    return page("Views", intro, parts)


def _short(data_type: str) -> str:
    return (
        data_type
        if len(data_type) < 60
        else data_type.partition("(")[0] + "(…)" + "[]" * data_type.endswith("[]")
    )


def files() -> str:
    """The files that leave the ledger, and the JSON Schema of each."""
    intro = """
Each is canonical JSON (RFC 8785) when it is digested. The JSON Schema files lie in the package
(`schemas/json`), one for each of these and for the data of each [event](events.md).
"""
    documents: tuple[tuple[str, type[BaseModel]], ...] = (
        ("Manifest", Manifest),
        ("Bundle of coefficient tables (`coefficients.json`)", CoefficientBundle),
        ("Certificate (an in-toto statement)", Statement),
    )
    parts = [part for title, record in documents for part in _document(title, record)]
    listed = [f"- `{name}`" for name in sorted(schema_files())]
    return page("Files", intro, [*parts, "## Schema files\n", *listed])


def _document(title: str, record: type[BaseModel]) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{_first_paragraph(record)}\n"
    yield fields(record)
    for part in _parts(record, {record}):
        yield f"### {part.__name__} of the {title.split()[0].lower()}\n"
        yield f"{_first_paragraph(part)}\n"
        yield fields(part)


def _parts(record: type[BaseModel], seen: set[type]) -> Iterator[type[BaseModel]]:
    """The records that a record is made of, each once, outer ones first."""
    for field in record.model_fields.values():
        for kind in _kinds(field.annotation):
            if kind not in seen:
                seen.add(kind)
                yield kind
                yield from _parts(kind, seen)


def _kinds(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in getattr(annotation, "__args__", ()):
        yield from _kinds(inner)


def campaign_file() -> str:
    """What a campaign file may hold."""
    intro = """
TOML. Every combination of a block's workloads, models, shapes and groups is a cell; the manifest is that
expansion. [Measure your own workload](../how-to/own-workload.md) walks through one.
"""
    parts = [fields(_CampaignFile), "## A block of cells\n", f"{_first_paragraph(_Block)}\n", fields(_Block)]
    names = ("protocol", "holdout", "fit", "gates")
    sections = {name: _CampaignFile.model_fields[name].annotation for name in names}
    for name, record in {**sections, "protocol.adaptive": AdaptiveStop}.items():
        assert record is not None
        parts += [f"## {name}\n", f"{_first_paragraph(record)}\n", fields(record)]
    parts += ["## Kinds of workload\n", _workload_kinds(), "## Model presets\n", _model_presets()]
    shipped = [
        (f"`{name}`", load_campaign(name).title, len(load_campaign(name).cells)) for name in campaign_names()
    ]
    parts += ["## Campaigns that come with the tool\n", table(("name", "what", "cells"), shipped)]
    return page("Campaign file", intro, parts)


def _workload_kinds() -> str:
    kinds = [
        (
            f"`{name}`",
            (getdoc(kind.build) or "").split("\n")[0],
            ", ".join(f"`{field}`" for field in kind.required),
            ", ".join(f"`{field}` ({value!r})" for field, value in {**kind.defaults, "seed": 0}.items()),
        )
        for name, kind in sorted(KINDS.items())
    ]
    return table(("kind", "rows", "must be given", "may be given"), kinds)


def _model_presets() -> str:
    numbers = (
        "hidden",
        "layers",
        "heads",
        "kv_heads",
        "ffn",
        "vocab",
        "attention_interval",
        "moe_experts",
        "dtype",
    )
    presets = [
        (f"`{name}`", *(getattr(found, n) for n in numbers)) for name, found in sorted(PRESETS.items())
    ]
    return table(("preset", *numbers), presets)


class _Symbol:
    """A fact by name; multiplying and subtracting spells the formula."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __mul__(self, other: object) -> "_Symbol":
        return _Symbol(f"{self.text} · {_spelled(other)}")

    def __sub__(self, other: object) -> "_Symbol":
        return _Symbol(f"({self.text} − {_spelled(other)})")


def _spelled(value: object) -> str:
    return value.text if isinstance(value, _Symbol) else "W" if value == WORK_PER_US else str(value)


class _Facts:
    cp_size, tp_size, layers = _Symbol("cp"), _Symbol("tp"), _Symbol("L")
    gdn_layers, attention_layers = _Symbol("G"), _Symbol("A")
    ep_size, etp_size = _Symbol("ep"), _Symbol("etp")


def terms() -> str:
    """The cost terms with their formulas, spelled by the functions that compute them."""
    intro = f"""
A score is the sum of coefficient × term; coefficients are integers in milli-microseconds, terms integers in
work units, W = {WORK_PER_US} of which make a microsecond. `//` rounds down. L layers, G of them Gated
DeltaNet, A = L − G attention; levels = max(0, depth − 1); a segment is tiny below 128 · cp tokens.
"""
    rows = []
    for name, term in TERMS.items():
        numerator, denominator = term.rate(_Facts())  # pyright: ignore[reportArgumentType]
        formula = f"{term.quantity.value.replace('_', ' ')} · {_spelled(numerator)}"
        rows.append((f"`{name}`", formula if denominator == 1 else f"{formula} // ({_spelled(denominator)})"))
    return page("Cost terms", intro, [table(("term", "work units of a layout"), rows)])


def pages() -> dict[str, str]:
    """Every reference page by file name."""
    return {
        "campaign-file.md": campaign_file(),
        "command-line.md": command_line(),
        "events.md": events(),
        "files.md": files(),
        "terms.md": terms(),
        "views.md": views(),
    }


def main() -> None:
    """Write the pages; print those that changed."""
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = FOLDER / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
