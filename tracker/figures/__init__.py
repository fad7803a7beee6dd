"""Fits and comparisons as figures: SVG written by hand, the same bytes for the same numbers everywhere."""

from tracker.figures._compared import comparison_figures
from tracker.figures._fitted import ablation_note, ablation_row, coefficient_rows, fit_figures

__all__ = ["ablation_note", "ablation_row", "coefficient_rows", "comparison_figures", "fit_figures"]
