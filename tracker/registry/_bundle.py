"""What a version is made of: the bundle, its certificates, and the words MLflow shows of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner import BUNDLE_DIGEST_TAG
from schemas import (
    BUNDLE_FILE,
    CoefficientBundle,
    CoefficientTable,
    InvalidInputError,
    MemoryModel,
    RegisteredTable,
    Statement,
    canonical_json,
    digest_bytes,
    digest_json,
)
from tracker._markdown import escape_markdown
from tracker.certificate import render_statement

MODEL = "layout-cost"
DESCRIPTION_CHARACTERS = 5000
HAND_SET = "The hand-set score: no evidence, no domain; what is used outside every measured domain."


@dataclass(frozen=True, slots=True)
class Package:
    """A bundle with the certificate of each of its tables, checked against each other."""

    bundle: CoefficientBundle
    statements: tuple[Statement, ...]

    def files(self) -> dict[str, bytes]:
        """The files that a planner reads, by name."""
        certificates = {
            table.certificate_file: render_statement(statement)
            for table, statement in zip(self.bundle.tables, self.statements, strict=True)
        }
        return {BUNDLE_FILE: canonical_json(self.bundle.plain()) + b"\n", **certificates}

    def tables(self) -> tuple[RegisteredTable, ...]:
        """The tables as the log records them."""
        return tuple(
            RegisteredTable(
                table_id=table.table_id,
                table_digest=table.table_digest,
                certificate=table.certificate_digest,
                domain=table.domain,
            )
            for table in self.bundle.tables
        )

    def tags(self) -> dict[str, str]:
        """The version's tags, without its seal."""
        tags = {BUNDLE_DIGEST_TAG: self.bundle.digest, "ledger.tables": str(len(self.bundle.tables))}
        for number, table in enumerate(self.bundle.tables, 1):
            tags[f"ledger.table.{number}.id"] = table.table_id
            tags[f"ledger.table.{number}.digest"] = table.table_digest
            tags[f"ledger.table.{number}.certificate"] = table.certificate_digest
        if self.bundle.memory:
            tags["ledger.memory.digest"] = self.bundle.memory.digest
            tags["ledger.memory.formula"] = str(self.bundle.memory.formula)
        return tags

    def description(self) -> str:
        """Markdown for the version's page; names from the evidence are escaped."""
        if not self.bundle.tables:
            return HAND_SET
        parts = [escape_markdown(self.bundle.description)] if self.bundle.description else []
        for table, statement in zip(self.bundle.tables, self.statements, strict=True):
            parts += _table_words(table, statement)
        if self.bundle.memory:
            parts.append(_memory_words(self.bundle.memory))
        text = "\n\n".join(parts)
        if len(text) <= DESCRIPTION_CHARACTERS:
            return text
        end = "\n\n… (shortened; the certificates among the version's files say all)"
        return text[: DESCRIPTION_CHARACTERS - len(end)].rpartition("\n")[0] + end

    def seal(self) -> str:
        """Digest over everything that a version shows: the value of its seal tag."""
        files = {name: digest_bytes(data) for name, data in self.files().items()}
        return digest_json({"tags": self.tags(), "description": self.description(), "files": files})


def hand_set_package() -> Package:
    """Version 1: no table."""
    return Package(CoefficientBundle(description=HAND_SET), ())


def make_bundle(
    statements: Sequence[Statement], description: str = "", *, memory: MemoryModel | None = None
) -> CoefficientBundle:
    """The bundle of certified tables: each table and domain as its certificate says; with a memory model."""
    return CoefficientBundle(
        description=description,
        tables=tuple(
            CoefficientTable(
                table_id=statement.predicate.table_id,
                coefficients=statement.predicate.table,
                table_digest=statement.predicate.table_digest,
                domain=statement.predicate.domain,
                certificate_digest=statement.digest,
                certificate_file=f"certificate-{statement.digest[:12]}.json",
            )
            for statement in statements
        ),
        memory=memory,
    )


def pack(bundle: CoefficientBundle, certificates: Sequence[Statement]) -> Package:
    """Join a bundle with its certificates.

    Raises:
        InvalidInputError: a table without its certificate, or one that says other than its certificate; two
            tables of one id or file name; a file name that is not a plain one.
    """
    by_digest = {statement.digest: statement for statement in certificates}
    _refuse_doubles("table id", [table.table_id for table in bundle.tables])
    _refuse_doubles("certificate file", [table.certificate_file for table in bundle.tables])
    statements: list[Statement] = []
    for table in bundle.tables:
        statement = by_digest.get(table.certificate_digest)
        if statement is None:
            raise InvalidInputError(
                f"table {table.table_id}: its certificate {table.certificate_digest} was not given; "
                "a table is registered with its certificate only"
            )
        _refuse_difference(table, statement)
        statements.append(statement)
    return Package(bundle, tuple(statements))


def _refuse_difference(table: CoefficientTable, statement: Statement) -> None:
    body = statement.predicate
    if (table.table_digest, table.coefficients) != (body.table_digest, body.table):
        raise InvalidInputError(
            f"table {table.table_id}: its coefficients are not those of certificate {statement.digest[:12]}; "
            "make the bundle of the certificates (make_bundle)"
        )
    name = table.certificate_file
    if name in ("", BUNDLE_FILE) or name.startswith(".") or "/" in name or "\\" in name:
        raise InvalidInputError(
            f"table {table.table_id}: certificate_file {name!r} is no plain file name; leave out folders"
        )


def _refuse_doubles(what: str, names: Sequence[str]) -> None:
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise InvalidInputError(
            f"{what} {', '.join(doubled)}: stands more than once in the bundle; give each once"
        )


def _table_words(table: CoefficientTable, statement: Statement) -> list[str]:
    body = statement.predicate
    rows = [
        "| cells | order right | regret median | p95 | max |",
        "|---|---|---|---|---|",
        *(
            f"| {escape_markdown(name)}: {m.cells} | {_percent(m.pairwise_accuracy, 100)} | "
            f"{_percent(m.median_regret_pct)} | {_percent(m.p95_regret_pct)} | {_percent(m.max_regret_pct)} |"
            for name, m in [*sorted(body.metrics.items()), ("hand-set score", body.hand_set)]
        ),
    ]
    passed = sum(verdict.passed for verdict in body.verdicts)
    domain = table.domain
    shapes = ", ".join(shape.label().replace("|", " ") for shape in domain.shapes)
    devices = ", ".join(f"{d.capability} {d.memory}" for d in domain.device_classes)
    excluded = "; ".join(f"{e.cell}: {e.reason}" for e in body.exclusions) or "none"
    return [
        f"## Table {escape_markdown(table.table_id)}",
        f"Campaign {escape_markdown(body.campaign)}, {len(body.cells)} cells, "
        f"{passed} of {len(body.verdicts)} gates passed.",
        "\n".join(rows),
        f"Measured on {escape_markdown(devices)}; {escape_markdown(', '.join(domain.dtypes))}; "
        f"{escape_markdown(shapes)}; {len(domain.geometries)} geometries.",
        f"Excluded: {escape_markdown(excluded)}",
        f"Certificate {statement.digest}\n\nEvidence root {escape_markdown(body.evidence.root)}",
        _coefficient_rows(table.coefficients),
    ]


def _memory_words(memory: MemoryModel) -> str:
    observations = sum(profile.observations for profile in memory.profiles)
    return (
        f"## Memory\n\nEstimate formula {memory.formula}, {len(memory.profiles)} profiles learned from "
        f"{observations} observations.\n\nMemory model {memory.digest}"
    )


def _coefficient_rows(coefficients: Mapping[str, int]) -> str:
    rows = [f"| {escape_markdown(name)} | {value} |" for name, value in sorted(coefficients.items())]
    return "\n".join(["| term | milli-µs a unit |", "|---|---|", *rows])


def _percent(value: float | None, factor: float = 1.0) -> str:
    return "–" if value is None else f"{factor * value:.2f}%"
