"""Triggers that refuse changes to sealed runs and registered versions, for SQLite and PostgreSQL.

MLflow itself lets anyone change or delete a finished run. A run is sealed by its tag `SEAL_TAG`, which the
mirror sets last; a version by the tag of the same name.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from schemas import StoreUnavailableError

SEAL_TAG = "ledger.sealed"
PREFIX = "layoutledger_"
RUN_REFUSAL = "sealed run: layoutledger keeps it as it was recorded"
VERSION_REFUSAL = "sealed version: layoutledger keeps it as it was registered"

# A row belongs to a sealed run or version when one of these holds; {row} is OLD or NEW.
_RUN = "EXISTS (SELECT 1 FROM tags WHERE key = '{tag}' AND run_uuid = {{row}}.{column})"
_VERSION = (
    "EXISTS (SELECT 1 FROM model_version_tags t WHERE t.key = '{tag}' AND t.name = {{row}}.name"
    " AND t.workspace = {{row}}.workspace{version})"
)


@dataclass(frozen=True, slots=True)
class _Guard:
    """A table, the condition under which a row of it is sealed, and the operations then refused."""

    table: str
    sealed: str
    operations: tuple[str, ...]
    refusal: str


def _run_guard(
    table: str, *columns: str, operations: tuple[str, ...] = ("INSERT", "UPDATE", "DELETE")
) -> _Guard:
    sealed = " OR ".join(_RUN.format(tag=SEAL_TAG, column=column) for column in columns)
    return _Guard(table, sealed, operations, RUN_REFUSAL)


def _version_guard(table: str, operations: tuple[str, ...], *, one: bool = True) -> _Guard:
    version = " AND t.version = {row}.version" if one else ""
    return _Guard(table, _VERSION.format(tag=SEAL_TAG, version=version), operations, VERSION_REFUSAL)


GUARDS = (
    _run_guard("runs", "run_uuid", operations=("UPDATE", "DELETE")),
    _run_guard("metrics", "run_uuid"),
    _run_guard("latest_metrics", "run_uuid"),
    _run_guard("params", "run_uuid"),
    _run_guard("tags", "run_uuid"),
    _run_guard("inputs", "source_id", "destination_id"),
    _version_guard("model_versions", ("UPDATE", "DELETE")),
    _version_guard("model_version_tags", ("INSERT", "UPDATE", "DELETE")),
    # Deleting the model would let the version numbers begin again at 1.
    _version_guard("registered_models", ("DELETE",), one=False),
)


def sqlite_triggers() -> dict[str, str]:
    """Each trigger's name and the statement that makes it."""
    return {name: "".join(_sqlite(name, guard, operation)) for name, guard, operation in _triggers()}


def _triggers() -> Iterator[tuple[str, _Guard, str]]:
    for guard in GUARDS:
        for operation in guard.operations:
            yield f"{PREFIX}{guard.table}_{operation.lower()}", guard, operation


def _condition(guard: _Guard, operation: str) -> str:
    rows = {"INSERT": ("NEW",), "UPDATE": ("OLD", "NEW"), "DELETE": ("OLD",)}[operation]
    return " OR ".join(guard.sealed.format(row=row) for row in rows)


def _sqlite(name: str, guard: _Guard, operation: str) -> Iterator[str]:
    yield f"CREATE TRIGGER {name} BEFORE {operation} ON {guard.table}"
    yield f" WHEN {_condition(guard, operation)}"
    yield f" BEGIN SELECT RAISE(ABORT, '{guard.refusal}'); END"


def missing_triggers(database: Path) -> tuple[str, ...]:
    """Names of the triggers that the database lacks or that read otherwise than they should, sorted.

    Raises:
        StoreUnavailableError: the file cannot be read as a database.

    """
    try:
        with closing(_connect(database)) as connection:
            found = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"))
    except sqlite3.Error as error:
        raise _unreadable(database, error) from error
    return tuple(sorted(name for name, sql in sqlite_triggers().items() if found.get(name) != sql))


def seal_database(database: Path) -> tuple[str, ...]:
    """Put every missing or altered trigger back; their names.

    Raises:
        StoreUnavailableError: the database cannot be written.

    """
    missing = missing_triggers(database)
    if missing:
        statements = sqlite_triggers()
        try:
            with closing(_connect(database)) as connection, connection:
                connection.execute("BEGIN IMMEDIATE")
                for name in missing:
                    connection.execute(f"DROP TRIGGER IF EXISTS {name}")
                    connection.execute(statements[name])
        except sqlite3.Error as error:
            raise _unreadable(database, error) from error
    return missing


def postgresql_sealing() -> str:
    """The same refusals on a shared PostgreSQL server: SQL for its owner to run, once or again."""
    parts = [
        "-- layoutledger: refuse changes to sealed runs and registered versions.",
        "-- Run as the owner of MLflow's tables.",
        "BEGIN;",
    ]
    for name, guard, operation in _triggers():
        result = "OLD" if operation == "DELETE" else "NEW"
        parts += [
            f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $sealed$",
            f"BEGIN IF {_condition(guard, operation)} THEN",
            f"  RAISE EXCEPTION '{guard.refusal}' USING ERRCODE = 'integrity_constraint_violation';",
            f"END IF; RETURN {result}; END $sealed$;",
            f"DROP TRIGGER IF EXISTS {name} ON {guard.table};",
            f"CREATE TRIGGER {name} BEFORE {operation} ON {guard.table}",
            f"  FOR EACH ROW EXECUTE FUNCTION {name}();",
        ]
    return "\n".join([*parts, "COMMIT;", ""])


def _connect(database: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{database.absolute()}?mode=rw", uri=True, timeout=20.0, isolation_level=None
    )


def _unreadable(database: Path, error: sqlite3.Error) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"{database}: the embedded tracking store does not answer: {error}; it is a projection: "
        "move the file away and run `layoutledger push` to make it anew"
    )
