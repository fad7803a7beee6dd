"""Coefficient tables, the domain that each was measured on, and the bundle that a version is."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from schemas._base import Record
from schemas._canonical import digest_json
from schemas._cell import DeviceClass, Geometry, ParallelShape
from schemas._memory import MemoryModel

BUNDLE_SCHEMA = "layoutledger.coefficients.v1"
BUNDLE_FILE = "coefficients.json"


def table_digest(coefficients: Mapping[str, int]) -> str:
    """sha256 of `json.dumps(table, sort_keys=True)`: the origin project's digest of the same table."""
    return hashlib.sha256(json.dumps(dict(coefficients), sort_keys=True).encode()).hexdigest()


class Withheld(Record):
    """A measured (geometry, shape) pair that is not admitted all the same."""

    geometry: Geometry
    shape: ParallelShape
    reason: str = Field(min_length=1, pattern=r"\S")


class Domain(Record):
    """What a table was measured on; admission is exact membership."""

    device_classes: tuple[DeviceClass, ...] = Field(min_length=1)
    dtypes: tuple[str, ...] = Field(min_length=1)
    geometries: tuple[Geometry, ...] = Field(min_length=1)
    shapes: tuple[ParallelShape, ...] = Field(min_length=1)
    withheld: tuple[Withheld, ...] = ()
    grad: Literal["enabled"] = "enabled"


class CoefficientTable(Record):
    """Integer milli-microseconds per term unit, with its domain and the certificate it stands on."""

    table_id: str = Field(min_length=1)
    coefficients: dict[str, int]
    table_digest: str
    domain: Domain
    certificate_digest: str
    certificate_file: str = Field(description="the certificate's file name beside the bundle")

    @model_validator(mode="after")
    def _digest_agrees(self) -> Self:
        negative = sorted(name for name, value in self.coefficients.items() if value < 0)
        if negative:
            raise ValueError(f"table {self.table_id}: negative coefficients: {', '.join(negative)}")
        found = table_digest(self.coefficients)
        if found != self.table_digest:
            raise ValueError(
                f"table {self.table_id}: table_digest is {self.table_digest}, its coefficients give {found}"
            )
        return self


class CoefficientBundle(Record):
    """A coefficient version's content: certified tables; none for version 1, the hand-set score."""

    schema_name: Literal["layoutledger.coefficients.v1"] = Field(default=BUNDLE_SCHEMA, alias="schema")
    description: str = ""
    tables: tuple[CoefficientTable, ...] = ()
    memory: MemoryModel | None = None

    def plain(self) -> dict[str, Any]:
        """The bundle as plain JSON; without memory it is spelled as before there was any, digest and all."""
        plain = super().plain()
        if self.memory is None:
            del plain["memory"]
        return plain

    @property
    def digest(self) -> str:
        """sha256 of the canonical bundle."""
        return digest_json(self.plain())
