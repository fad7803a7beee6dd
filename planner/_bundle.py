"""A bundle's files, read and checked: nothing in them is run, and nothing unproven comes out.

Only this module and the registry's door know the borders' records; they are imported when a bundle is read.
"""

import json
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from planner._domain import DeviceClass, Domain, ModelGeometry, ParallelShape
from planner._score import check_coefficients
from planner._version import CoefficientVersion, Table
from planner.memory._learned import LearnedMemory
from planner.memory._pricing import KNOWN_FORMULAS
from planner.memory._profile import MemoryProfile, Signature
from schemas import CorruptionError, InvalidInputError, StoreUnavailableError

if TYPE_CHECKING:
    from schemas import Certificate, CoefficientBundle, CoefficientTable, MemoryModel
    from schemas import Domain as DomainRecord

BUNDLE = "coefficients.json"

Files = Mapping[str, bytes]
"""A bundle's files by name; the bundle itself is ``coefficients.json``."""


def collect_files(folder: Path, name: str, source: str) -> Files:
    """Read a bundle of that name and the certificates beside it; a certificate that is missing is left out.

    Raises:
        CorruptionError: a certificate that would not lie beside the bundle.
        InvalidInputError: a file that is no bundle.
        StoreUnavailableError: a file that cannot be read.
    """
    try:
        files = {BUNDLE: (folder / name).read_bytes()}
        for table in parse_bundle(files[BUNDLE], f"{source}: {BUNDLE}").tables:
            certificate = table.certificate_file
            if Path(certificate).name != certificate or certificate in (BUNDLE, name):
                raise CorruptionError(f"{source}: {certificate}: a bundle's certificates lie beside it")
            if (folder / certificate).is_file():
                files[certificate] = (folder / certificate).read_bytes()
    except StoreUnavailableError:
        raise
    except OSError as error:
        raise StoreUnavailableError(f"{source}: cannot be read: {error}; make it readable") from error
    return files


def open_bundle(
    files: Files, *, source: str, version: int | None, expected_digest: str | None
) -> CoefficientVersion:
    """Check a bundle against its certificates.

    Args:
        files: the bundle's.
        source: where they come from, for messages.
        version: its number in the registry.
        expected_digest: what the registry recorded, None where nothing did.

    Raises:
        CorruptionError: a digest that does not agree; names the file and the field.
        InvalidInputError: a file that is no bundle or no certificate.
    """
    where = f"{source}: {BUNDLE}"
    bundle = parse_bundle(files[BUNDLE], where)
    if expected_digest is not None and bundle.digest != expected_digest:
        raise CorruptionError(
            f"{where}: digest is {bundle.digest}, but {expected_digest} was registered; "
            "the bundle was changed after its registration: register it again from the ledger"
        )
    tables = tuple(_checked_table(table, files, source) for table in bundle.tables)
    memory = _learned_memory(bundle.memory, where) if bundle.memory else None
    return CoefficientVersion(version, bundle.digest, tables, bundle.description, source, memory)


def parse_bundle(data: bytes, where: str) -> "CoefficientBundle":
    """Parse a bundle without its certificates.

    Raises:
        CorruptionError: coefficients that do not give their ``table_digest``.
        InvalidInputError: no JSON, or not of a bundle's form; names each field.
    """
    from schemas import CoefficientBundle, table_digest

    content = _json(data, where)
    for index, table in enumerate(_dicts(content.get("tables"))):
        coefficients, said = table.get("coefficients"), table.get("table_digest")
        if isinstance(coefficients, dict) and said != table_digest(cast("dict[str, int]", coefficients)):
            raise CorruptionError(
                f"{where}: tables.{index}.table_digest is {said}, but its coefficients do not give that; "
                "the table was changed after it was certified"
            )
    return CoefficientBundle.parse(content, where=where)


def _checked_table(table: "CoefficientTable", files: Files, source: str) -> Table:
    from schemas import Statement, digest_json

    where = f"{source}: {table.certificate_file}"
    if table.certificate_file not in files:
        raise CorruptionError(
            f"{where}: the certificate of table {table.table_id} is missing; a table is served with it only"
        )
    content = _json(files[table.certificate_file], where)
    digest = digest_json(content)
    if digest != table.certificate_digest:
        raise CorruptionError(
            f"{where}: digest is {digest}, but {BUNDLE} names certificate_digest "
            f"{table.certificate_digest} for table {table.table_id}; the certificate was changed or exchanged"
        )
    statement = Statement.parse(content, where=where)
    _check_agreement(table, statement.predicate, f"{source}: {BUNDLE}: table {table.table_id}")
    try:
        check_coefficients(table.coefficients)
    except ValueError as error:
        raise InvalidInputError(f"{source}: {BUNDLE}: table {table.table_id}: {error}") from error
    return Table(
        table.table_id,
        MappingProxyType(dict(table.coefficients)),
        table.table_digest,
        plain_domain(table.domain),
        table.certificate_digest,
    )


def _check_agreement(table: "CoefficientTable", certificate: "Certificate", where: str) -> None:
    """A table says nothing that its certificate does not: same id, integers, domain, every part measured."""
    for name, said, proven in (
        ("table_id", table.table_id, certificate.table_id),
        ("table_digest", table.table_digest, certificate.table_digest),
        ("coefficients", table.coefficients, certificate.table),
        ("domain", table.domain, certificate.domain),
    ):
        if said != proven:
            raise CorruptionError(f"{where}: {name} is not that of the certificate {table.certificate_file}")
    unmeasured = unmeasured_parts(table.domain, certificate)
    if unmeasured:
        raise CorruptionError(
            f"{where}: domain lists what no certified cell measured: {'; '.join(unmeasured)}"
        )


def unmeasured_parts(domain: "DomainRecord", certificate: "Certificate") -> list[str]:
    """Return the parts of a domain that no cell of the certificate was measured on, in words."""
    prints = [cell.fingerprint for cell in certificate.cells]
    known = [(cell.fingerprint.geometry, cell.identity.shape) for cell in certificate.cells]
    known += [(pair.geometry, pair.shape) for pair in domain.withheld]
    missing: list[Any] = [
        *(item for item in domain.device_classes if item not in [found.device_class for found in prints]),
        *(item for item in domain.dtypes if item not in [found.dtype for found in prints]),
    ]
    for geometry in domain.geometries:
        for shape in domain.shapes:
            if (geometry, shape) not in known:
                missing.append(f"{shape.label()} of {geometry}")
    return [str(item) for item in missing]


def plain_domain(record: "DomainRecord") -> Domain:
    """Make the planner's domain from the border's record."""
    return Domain(
        device_classes=frozenset(DeviceClass(item.capability, item.memory) for item in record.device_classes),
        dtypes=frozenset(record.dtypes),
        geometries=frozenset(map(_geometry, record.geometries)),
        shapes=frozenset(map(_shape, record.shapes)),
        withheld=MappingProxyType(
            {(_geometry(pair.geometry), _shape(pair.shape)): pair.reason for pair in record.withheld}
        ),
    )


def _learned_memory(record: "MemoryModel", where: str) -> LearnedMemory:
    formula = KNOWN_FORMULAS.get(record.formula)
    if formula is None:
        raise InvalidInputError(
            f"{where}: memory.formula is {record.formula}; this program knows "
            f"{', '.join(map(str, KNOWN_FORMULAS))}: update it, or load an earlier version"
        )
    profiles = {
        Signature(**item.signature.plain()): MemoryProfile(
            **{field.name: getattr(item, field.name) for field in fields(MemoryProfile)}
        )
        for item in record.profiles
    }
    return LearnedMemory(formula, MappingProxyType(profiles), record.digest)


def _geometry(record: Any) -> ModelGeometry:
    return ModelGeometry(**{item.name: getattr(record, item.name) for item in fields(ModelGeometry)})


def _shape(record: Any) -> ParallelShape:
    return ParallelShape(record.tp, record.cp, record.ep, record.etp)


def _dicts(value: Any) -> list[dict[str, Any]]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def _json(data: bytes, where: str) -> Mapping[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"{where}: not JSON: {error}; name a bundle that a ledger registered"
        ) from error
    if not isinstance(value, dict):
        raise InvalidInputError(f"{where}: expected a JSON object; name a bundle that a ledger registered")
    return cast("dict[str, Any]", value)
