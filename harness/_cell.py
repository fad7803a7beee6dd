"""What a cell is made of on one rank: rows, tree, candidates, the planner's own choice, facts, fingerprint.

No torch here: everything is the same on every rank.
"""

from dataclasses import dataclass

from harness._corpus import corpus_digest, corpus_shape
from harness._further import further_layouts
from harness._job import AutomaticChoice
from harness._model_spec import model_config
from harness._workload import Rows, cell_rows, rows_digest
from harness.model import ModelConfig
from planner import Layout, ScoringFacts, build_prefix_tree, mandatory_candidates, select_layout
from schemas import (
    AUTOMATIC,
    Candidate,
    CellDescribed,
    CellFacts,
    CellPlan,
    CorpusShape,
    DeviceClass,
    Features,
    Fingerprint,
    Geometry,
)


@dataclass(frozen=True, slots=True)
class Variant:
    """A layout to be timed, under the name that its samples carry."""

    name: str
    layout: Layout
    candidate: Candidate


@dataclass(frozen=True, slots=True)
class PreparedCell:
    """A cell ready to run: rows, model configuration, the layouts to time, and their description."""

    plan: CellPlan
    rows: Rows
    config: ModelConfig
    variants: tuple[Variant, ...]
    automatic: Candidate
    facts: CellFacts
    tree_decisions: int
    tree_segments: int

    def describe(
        self, *, source: str, device: str, device_class: DeviceClass, automatic_version: int
    ) -> CellDescribed:
        """The cell as the ledger keeps it."""
        mandatory = tuple(variant.candidate for variant in self.variants if variant.name != AUTOMATIC)
        return CellDescribed(
            cell=self.plan.identity.key,
            facts=self.facts,
            fingerprint=Fingerprint(
                source=source,
                workload=rows_digest(self.rows),
                device=device,
                device_class=device_class,
                dtype=self.config.dtype,
                geometry=Geometry(**self.config.geometry()),
            ),
            rows=len(self.rows),
            tokens=sum(len(row) for row in self.rows),
            tree_decisions=self.tree_decisions,
            tree_segments=self.tree_segments,
            candidates=mandatory,
            automatic=self.automatic,
            automatic_version=automatic_version,
            corpus=self._corpus(),
        )

    def _corpus(self) -> CorpusShape | None:
        parameters = self.plan.workload.parameters
        if self.plan.workload.kind != "file":
            return None
        return corpus_shape(self.rows, parameters.get("digest") or corpus_digest(parameters["path"]))


def prepare_cell(plan: CellPlan, automatic: AutomaticChoice) -> PreparedCell:
    """Rows, tree and every layout of a cell.

    Timed are the mandatory candidates and the layouts that the plan asks for. The planner's own choice is
    timed by itself only where it is none of those; elsewhere its labels name the candidate whose samples are
    also its own.

    Raises:
        InvalidInputError: a workload or model that cannot be built.
        NotFoundError: the workload's file is not there, or is not the registered one.

    """
    config = model_config(plan.model, plan.dtype)
    rows = cell_rows(plan)
    facts = _facts(plan, config)
    tree = build_prefix_tree(rows)
    variants = [
        Variant(found.labels[0], found.layout, _candidate(found.labels, found.layout))
        for found in mandatory_candidates(tree)
    ]
    known = {variant.layout.decisions for variant in variants}
    variants += [
        Variant(label, layout, _candidate((label,), layout))
        for label, layout in further_layouts(plan, tree, known).items()
    ]
    choice = select_layout(tree, ScoringFacts.of_cell(facts), automatic.coefficients)
    names = {variant.layout.decisions: variant.candidate.labels for variant in variants}
    labels = names.get(choice.layout.decisions, ())
    chosen = _candidate((AUTOMATIC, *labels), choice.layout)
    if not labels:
        variants.append(Variant(AUTOMATIC, choice.layout, chosen))
    return PreparedCell(
        plan, rows, config, tuple(variants), chosen, facts, len(tree.decisions), len(tree.segments)
    )


def _facts(plan: CellPlan, config: ModelConfig) -> CellFacts:
    shape = plan.identity.shape
    return CellFacts(
        tp=shape.tp,
        cp=shape.cp,
        ep=shape.ep,
        etp=shape.etp,
        layers=config.layers,
        gdn_layers=config.gdn_layers,
        uses_gdn=config.uses_gdn,
    )


def _candidate(labels: tuple[str, ...], layout: Layout) -> Candidate:
    features = layout.features
    return Candidate(
        label=labels[0],
        labels=labels,
        decisions=layout.decisions,
        features=Features(
            packed_tokens=features.packed_tokens,
            segment_count=features.segment_count,
            max_depth=features.max_depth,
            segments_below=features.segments_below,
        ),
    )
