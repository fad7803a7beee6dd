"""What a campaign must keep beyond its fields, so that a mistake shows before anything is registered."""

import math
from collections import Counter

from harness._further import further_layouts
from harness._model_spec import model_config
from harness._workload import cell_rows
from planner import TERMS, build_prefix_tree
from schemas import FitArguments, Gates, HoldoutRule, InvalidInputError, Manifest, NotFoundError, Protocol

_MOST_ROUNDS = 1_000_000
_MOST_THREADS = 4096


def check_campaign_rules(manifest: Manifest, where: str) -> None:
    """Refuse a manifest that could not be measured, fitted or judged as it says.

    Args:
        manifest: the expanded campaign.
        where: names the file in errors.

    Raises:
        InvalidInputError: what is wrong, and where.

    """
    _check_protocol(manifest.protocol, where)
    _check_terms(manifest.fit, where)
    _check_holdout(manifest, where)
    _check_gates(manifest.gates, where)
    _check_models(manifest, where)
    _check_layouts(manifest)


def _check_protocol(protocol: Protocol, where: str) -> None:
    limits = {"rounds": _MOST_ROUNDS, "extra_rounds": _MOST_ROUNDS, "warmup_limit": _MOST_ROUNDS}
    for name, most in {**limits, "threads_per_rank": _MOST_THREADS}.items():
        if getattr(protocol, name) > most:
            raise InvalidInputError(f"{where}: protocol.{name} is {getattr(protocol, name)}; at most {most}")
    if protocol.required > protocol.rounds + protocol.extra_rounds:
        raise InvalidInputError(
            f"{where}: protocol.required is {protocol.required}, but rounds and extra_rounds allow only "
            f"{protocol.rounds + protocol.extra_rounds}"
        )
    if protocol.warmup_rounds > protocol.warmup_limit:
        raise InvalidInputError(
            f"{where}: protocol.warmup_rounds is {protocol.warmup_rounds}, above its warmup_limit "
            f"{protocol.warmup_limit}"
        )


def _check_terms(fit: FitArguments, where: str) -> None:
    unknown = [repr(name) for name in fit.terms if name not in TERMS]
    if unknown:
        raise InvalidInputError(
            f"{where}: fit.terms: no term {', '.join(unknown)}; the terms are {', '.join(TERMS)}"
        )
    doubled = [name for name, count in Counter(fit.terms).items() if count > 1]
    if doubled:
        raise InvalidInputError(f"{where}: fit.terms lists {', '.join(doubled)} more than once")


def _check_holdout(manifest: Manifest, where: str) -> None:
    """A rule that parts nothing is a typing error, and would show only after hours of measuring."""
    cells, held = len(manifest.keys), len(manifest.holdout_keys())
    rule = manifest.holdout
    if cells < 2 or not (rule.contains or rule.odd_groups_of):
        return
    if held in (0, cells):
        names = ", ".join(map(repr, (*rule.contains, *rule.odd_groups_of)))
        raise InvalidInputError(
            f"{where}: holdout ({names}) holds out {'none' if not held else 'each'} of the {cells} cells; "
            f"name a part of some cells' keys, which are like {manifest.keys[0]!r}"
        )


def _check_gates(gates: Gates, where: str) -> None:
    """A limit that nothing can keep is a typing error; a very large regret asks for nothing."""
    for name, limit in gates:
        if not 0 <= limit < math.inf:
            raise InvalidInputError(f"{where}: gates.{name} is {limit}; a percentage, at least 0")
    if gates.pairwise_min_pct > 100:
        raise InvalidInputError(
            f"{where}: gates.pairwise_min_pct is {gates.pairwise_min_pct}; it is in percent, at most 100"
        )


def idle_holdout_names(manifest: Manifest) -> tuple[str, ...]:
    """What the holdout rule names that is part of no cell's key."""
    rule = manifest.holdout
    alone = {name: HoldoutRule(contains=(name,)) for name in rule.contains}
    alone |= {name: HoldoutRule(odd_groups_of=(name,)) for name in rule.odd_groups_of}
    return tuple(name for name, part in alone.items() if not any(map(part.holds_out, manifest.keys)))


def _check_models(manifest: Manifest, where: str) -> None:
    distinct = {(plan.identity.model, plan.dtype): plan.model for plan in manifest.cells}
    for (_, dtype), model in distinct.items():
        try:
            model_config(model, dtype)
        except (InvalidInputError, NotFoundError) as error:
            raise InvalidInputError(f"{where}: {error}") from error


def _check_layouts(manifest: Manifest) -> None:
    """Refuse a layout that a cell's rows do not have."""
    for plan in manifest.cells:
        if plan.layouts:
            further_layouts(plan, build_prefix_tree(cell_rows(plan)), ())
