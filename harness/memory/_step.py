"""A training step under a memory budget: priced before it runs, split or refused where it does not fit."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.profiler import record_function

from harness._comm import gather_control
from harness._executor import scoring_facts
from harness._step import prepare, sum_over_ranks, synchronize_gradients
from harness.memory._records import refusal_record, split_record
from harness.model._decoder import Decoder
from planner.memory import (
    Admission,
    LayoutChoice,
    MemoryBudgetError,
    Pricing,
    Signature,
    Subforward,
    admit,
    agree,
    run_subforwards,
)
from schemas import Record

FORWARD_STAGE = "memory.forward"
"""Label around the forwards of a step; at its end what is in use is what they retain."""

Report = Callable[[str, Record], None]


@dataclass(frozen=True, slots=True)
class AdmittedStep:
    """A step that ran.

    Args:
        loss: mean next-token loss of the whole batch.
        admission: how it was split, and what it was predicted to take.
    """

    loss: float
    admission: Admission


class BudgetedExecutor:
    """The production path under a budget: rows in, an admitted split, one step with the batch's gradients.

    In a process group every rank must make one and call it alike: pricing and limit are agreed for each step.

    Args:
        model: on this rank.
        signature: what the pricing's profile was learned under, for the records.
        pricing: how forwards are charged on this rank.
        coefficients: a table of a loaded version (milli-microseconds by term); None scores by version 1.
        report: takes event types and records of refusals and splits.
    """

    def __init__(
        self,
        model: Decoder,
        signature: Signature,
        pricing: Pricing,
        *,
        coefficients: Mapping[str, int] | None = None,
        report: Report = lambda _type, _record: None,
    ) -> None:
        self._model, self._signature, self._pricing = model, signature, pricing
        self._choice = LayoutChoice(scoring_facts(model), coefficients)
        self._report = report

    def run(self, rows: Sequence[ArrayLike], usable_limit_bytes: int) -> AdmittedStep:
        """Admit the rows and run one step, whole or split; gradients and loss are those of the whole batch.

        Args:
            rows: one-dimensional sequences of tokens.
            usable_limit_bytes: what the step may add to the memory in use on this rank.

        Raises:
            MemoryBudgetError: no split fits; nothing ran.
            PartialExecutionError: a subforward failed or found no room; it says which ran.
        """
        admission = self._admit(rows, usable_limit_bytes)
        clear_gradients(self._model)
        with record_function(FORWARD_STAGE):
            shares = self._forwards(rows, admission)
        loss = torch.stack(shares).sum() if len(shares) > 1 else shares[0]
        loss.backward()
        synchronize_gradients(self._model)
        return AdmittedStep(float(sum_over_ranks(loss.detach(), self._model.groups)), admission)

    def _admit(self, rows: Sequence[ArrayLike], limit: int) -> Admission:
        pricing, limit = agree(self._pricing, limit, self._all_reduce)
        try:
            admission = admit(rows, pricing, limit, self._choice)
        except MemoryBudgetError as error:
            tokens = sum(len(row) for row in rows)  # type: ignore[arg-type]
            record = refusal_record(self._signature, pricing, error, rows=len(rows), tokens=tokens)
            self._report("admission.refused", record)
            raise
        if len(admission.subforwards) > 1:
            self._report("admission.split", split_record(self._signature, pricing, admission))
        return admission

    def _forwards(self, rows: Sequence[ArrayLike], admission: Admission) -> list[Tensor]:
        """Run the subforwards; each gives its part of the whole batch's mean loss."""
        targets = [sum(len(rows[row]) - 1 for row in part.rows) for part in admission.subforwards]  # type: ignore[arg-type]
        weight = {
            part.rows: share / max(1, sum(targets))
            for part, share in zip(admission.subforwards, targets, strict=True)
        }

        def run(part: Subforward) -> Tensor:
            plan = prepare(self._model, [rows[row] for row in part.rows], part.layout)
            return self._model(plan) * weight[part.rows]

        return run_subforwards(admission, run, held_bytes=held_meter(self._model))

    def _all_reduce(self, values: Sequence[int], how: str) -> Sequence[int]:
        ranks = gather_control(self._model.groups, values)
        return [{"max": max, "min": min}[how](column) for column in zip(*ranks, strict=True)]


def clear_gradients(model: Decoder) -> None:
    """Drop the gradients of an earlier step, and their memory."""
    for parameter in model.parameters():
        parameter.grad = None


def held_meter(model: Decoder) -> Callable[[], int] | None:
    """Bytes in use above those in use now; None on a CPU, whose allocator keeps no account."""
    device = model.embedding.device
    if device.type != "cuda":
        return None
    before = torch.cuda.memory_allocated(device)
    return lambda: torch.cuda.memory_allocated(device) - before
