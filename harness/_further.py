"""Layouts that a campaign asks for beside the mandatory candidates: selections that no one has measured."""

from collections.abc import Collection

from planner import Layout, PrefixTree, plan_layout
from schemas import CellPlan, InvalidInputError, digest_json

LABEL_DIGITS = 8


def further_layouts(
    plan: CellPlan, tree: PrefixTree, known: Collection[tuple[int, ...]]
) -> dict[str, Layout]:
    """The layouts that a plan asks for and that are not known yet, by a label that their decisions give.

    Args:
        plan: the cell; its `layouts` name decisions of the tree.
        tree: of the cell's rows.
        known: shared decisions of the layouts that are timed anyway.

    Raises:
        InvalidInputError: what the plan names is no decision of this tree.
    """
    found: dict[str, Layout] = {}
    for decisions in plan.layouts:
        try:
            layout = plan_layout(tree, decisions)
        except ValueError as error:
            raise InvalidInputError(
                f"cell {plan.identity.key}: layouts: {list(decisions)}: {error}; "
                "`layoutledger fit check --campaign-out` writes those that a search selected"
            ) from error
        if layout.decisions not in known:
            found[f"layout_{digest_json(list(layout.decisions))[:LABEL_DIGITS]}"] = layout
    return found
