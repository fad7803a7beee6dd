"""The production path of a step: the planner alone chooses the layout.

A measurement forces one by calling `harness._step` with a layout of its own; no argument of the public
`Executor` reaches that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from harness._step import forward_backward, prepare
from harness.model._decoder import Decoder
from planner import ScoringFacts, build_prefix_tree, select_layout


def scoring_facts(model: Decoder) -> ScoringFacts:
    """What the planner scores a layout by, read from the model."""
    config, groups = model.config, model.groups
    return ScoringFacts(
        cp_size=groups.cp.size,
        tp_size=groups.tp.size,
        layers=config.layers,
        gdn_layers=config.gdn_layers,
        uses_gdn=config.uses_gdn,
        ep_size=groups.ep.size,
        etp_size=groups.etp.size,
    )


@dataclass(frozen=True, slots=True)
class StepResult:
    """One production step: the decisions the planner shared, and the loss."""

    decisions: tuple[int, ...]
    loss: float


class Executor:
    """The production path: rows in, the planner's layout, one step.

    `coefficients` is a table of a loaded version (milli-microseconds by term); None scores by version 1.
    """

    def __init__(
        self,
        model: Decoder,
        *,
        coefficients: Mapping[str, int] | None = None,
        refinement_budget: int = 2000,
    ) -> None:
        self._model, self._coefficients, self._budget = model, coefficients, refinement_budget

    def run(self, rows: Sequence[ArrayLike]) -> StepResult:
        """Choose a layout for the rows and run one step in it."""
        tree = build_prefix_tree(rows)
        selected = select_layout(
            tree,
            scoring_facts(self._model),
            coefficients=self._coefficients,
            refinement_budget=self._budget,
        )
        loss = forward_backward(self._model, prepare(self._model, rows, selected.layout))
        return StepResult(tuple(selected.decisions), loss)
