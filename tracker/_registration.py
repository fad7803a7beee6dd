"""What the log says against a fit: rules registered after the first sample, a held-out cell trained on."""

from schemas import FitCompleted, IncompleteEvidenceError, Manifest


def registered_before(opened: str, first_sample: str | None) -> bool:
    """Whether the manifest stood in the log before any sample; so it does where all evidence is imported.

    Args:
        opened: RFC 3339, UTC.
        first_sample: as precise, so that the order as text is the order in time.
    """
    return first_sample is None or opened < first_sample


def refuse_late_registration(campaign: str, opened: str, first_sample: str | None) -> None:
    """A holdout and gates chosen after samples were seen judge nothing (design, section 8).

    Raises:
        IncompleteEvidenceError: the manifest came after the first sample.
    """
    if not registered_before(opened, first_sample):
        raise IncompleteEvidenceError(
            f"campaign {campaign}: its manifest was registered at {opened}, after its first sample at "
            f"{first_sample}: holdout and gates must be fixed before; register a new campaign and measure it"
        )


def misused_cells(manifest: Manifest, result: FitCompleted) -> tuple[str, ...]:
    """Cells of a recorded fit on the wrong side of the registered holdout, sorted."""
    trained = {cell for cell in result.training_cells if manifest.holdout.holds_out(cell)}
    judged = {cell for cell in result.holdout_cells if not manifest.holdout.holds_out(cell)}
    return tuple(sorted(trained | judged))


def refuse_misused(manifest: Manifest, result: FitCompleted) -> None:
    """A table that has seen the cells it is judged on is not certified.

    Raises:
        IncompleteEvidenceError: naming the cells.
    """
    wrong = misused_cells(manifest, result)
    if wrong:
        raise IncompleteEvidenceError(
            f"campaign {manifest.campaign}: the fit does not keep to the registered holdout, "
            f"fit again: {'; '.join(wrong)}"
        )
