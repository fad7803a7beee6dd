"""A fitted table by its digest, to be taken elsewhere: JSON or a Python literal."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from schemas import FitCompleted, InvalidInputError, NotFoundError
from tracker._ledger import Ledger


@dataclass(frozen=True, slots=True)
class FoundTable:
    """A table that a fit of this ledger gave.

    Args:
        table_id: its name.
        digest: sha256 of the coefficients.
        coefficients: integer milli-microseconds per unit, by term name.
    """

    table_id: str
    digest: str
    coefficients: Mapping[str, int]


def find_table(ledger: Ledger, digest: str) -> FoundTable:
    """The table whose digest, or whose certificate's digest, begins so.

    Raises:
        NotFoundError: none begins so; names those there are.
        InvalidInputError: more than one table does.
    """
    fits: dict[tuple[str, str], FitCompleted] = {
        (campaign, fit): ledger.fit(campaign, fit)
        for campaign in ledger.campaigns()
        for fit in ledger.fits(campaign)
    }
    names = [(result.table_digest, result) for result in fits.values()]
    names += [
        (certificate, fits[campaign, fit])
        for campaign, certificate, fit in ledger.issued_certificates(None)
        if (campaign, fit) in fits
    ]
    found = {
        result.table_digest: FoundTable(result.table_id, result.table_digest, result.table)
        for name, result in names
        if digest and name.startswith(digest.lower())
    }
    if not found:
        known = "\n  ".join(sorted({result.table_digest for result in fits.values()})) or "(none)"
        raise NotFoundError(
            f"no table or certificate {digest!r} in {ledger.store}; the tables are:\n  {known}"
        )
    if len(found) > 1:
        raise InvalidInputError(
            f"{digest!r} begins several tables' digests, give more digits: " + ", ".join(sorted(found))
        )
    return next(iter(found.values()))


def as_json(table: FoundTable) -> str:
    """The coefficients alone; the digest is sha256 of the same object in one line, keys sorted."""
    return json.dumps(dict(table.coefficients), indent=1, sort_keys=True) + "\n"


def as_python(table: FoundTable) -> str:
    """A dictionary literal under a comment that says which table it is."""
    lines = [f"    {json.dumps(name)}: {value:_}," for name, value in sorted(table.coefficients.items())]
    head = f"# table {json.dumps(table.table_id)}, sha256 {table.digest}; milli-microseconds per unit"
    return "\n".join([head, "{", *lines, "}"]) + "\n"


FORMS: Mapping[str, Callable[[FoundTable], str]] = {"json": as_json, "python": as_python}
