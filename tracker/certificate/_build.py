"""Make a certificate from the views over the segments that its fit stood on."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from schemas import (
    Certificate,
    CertifiedCell,
    CertifiedExclusion,
    Domain,
    FitCompleted,
    Manifest,
    Record,
    Statement,
    Withheld,
    canonical_json,
    wrap_certificate,
)

Item = TypeVar("Item", bound=Record)


def build_statement(
    fit: str,
    result: FitCompleted,
    manifest: Manifest,
    cells: Sequence[CertifiedCell],
    exclusions: Sequence[CertifiedExclusion],
) -> Statement:
    """The certificate of a fit, wrapped; pure, so the same evidence gives the same bytes everywhere.

    Args:
        fit: the fit's segment id.
        result: the fit's verdict.
        manifest: the campaign's manifest.
        cells: the retained cells in key order, from the views over the fit's evidence.
        exclusions: the cells taken out, in key order.
    """
    return wrap_certificate(
        Certificate(
            campaign=manifest.campaign,
            table_id=result.table_id,
            fit=fit,
            manifest_digest=manifest.digest,
            expected_cells=manifest.keys,
            fit_arguments=result.arguments,
            holdout=manifest.holdout,
            required_samples=manifest.protocol.required,
            exclusions=tuple(exclusions),
            table=result.table,
            table_digest=result.table_digest,
            metrics=result.metrics,
            by_model=result.by_model,
            by_shape=result.by_shape,
            by_family=result.by_family,
            hand_set=result.hand_set,
            gates=manifest.gates,
            verdicts=result.gates,
            domain=measured_domain(cells),
            evidence=result.evidence,
            cells=tuple(cells),
        )
    )


def measured_domain(cells: Sequence[CertifiedCell]) -> Domain:
    """Exactly the execution classes that the cells were measured on, each list in canonical order.

    A pair of geometry and shape that no cell joins is withheld: both sides measured is not the pair measured.
    """
    geometries = _distinct(cells, lambda cell: cell.fingerprint.geometry)
    shapes = _distinct(cells, lambda cell: cell.identity.shape)
    joined = {(cell.fingerprint.geometry, cell.identity.shape) for cell in cells}
    return Domain(
        device_classes=_distinct(cells, lambda cell: cell.fingerprint.device_class),
        dtypes=tuple(sorted({cell.fingerprint.dtype for cell in cells})),
        geometries=geometries,
        shapes=shapes,
        withheld=tuple(
            Withheld(geometry=geometry, shape=shape, reason="not measured together")
            for geometry in geometries
            for shape in shapes
            if (geometry, shape) not in joined
        ),
    )


def _distinct(cells: Sequence[CertifiedCell], part: Callable[[CertifiedCell], Item]) -> tuple[Item, ...]:
    by_text = {canonical_json(part(cell).plain()): part(cell) for cell in cells}
    return tuple(by_text[text] for text in sorted(by_text))
