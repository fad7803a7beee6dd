"""One rank of a real world, started by the fixture `run_ranks` with: CHECK RANK TP CP STORE INPUT."""

import json
import sys
from pathlib import Path

import numpy as np
import torch

from harness._cell import prepare_cell
from harness._comm import (
    Axis,
    Groups,
    all_gather,
    all_reduce,
    close_groups,
    exchange,
    exchange_rows,
    gather,
    gather_control,
    gather_control_text,
    open_groups,
    reduce,
    replicate,
    single_process,
)
from harness._executor import Executor
from harness._failure import RanksDisagreeError
from harness._job import AutomaticChoice
from harness._measure import require_same_layouts
from harness._step import forward_backward, per_row_logits, prepare
from harness.memory import BudgetedExecutor, memory_signature
from harness.model import ModelConfig
from harness.model._decoder import Decoder, build_model
from planner import Layout, build_prefix_tree, mandatory_candidates, plan_layout
from planner.memory import (
    ForwardSize,
    MemoryBudgetError,
    ModelFloor,
    Observation,
    Pricing,
    learn_profile,
)
from schemas import CellPlan

PARTS = ("lora_a", "lora_b")


def check_equality(groups: Groups, given: dict) -> None:
    """Every candidate layout of every case on this rank against no sharing on one rank."""
    for case in given["cases"]:
        equal_to_one_rank(groups, case)


def equal_to_one_rank(groups: Groups, given: dict) -> None:
    config = ModelConfig(**given["config"])
    alone, split = build_model(config, single_process(), 3), build_model(config, groups, 3)
    whole = dict(alone.adapters())
    for name, raw in given["batches"].items():
        rows = [np.array(row) for row in raw]
        tree = build_prefix_tree(rows)
        loss = forward_backward(alone, plan := prepare(alone, rows, plan_layout(tree, ())))
        logits = per_row_logits(alone, plan)
        for candidate in mandatory_candidates(tree):
            where = f"{name}, {candidate.labels[0]}"
            plan = prepare(split, rows, candidate.layout)
            close(forward_backward(split, plan), loss, given["tolerance"], f"{where}: loss")
            for row, (found, expected) in enumerate(zip(per_row_logits(split, plan), logits, strict=True)):
                close(found, expected, given["tolerance"], f"{where}: logits of row {row}")
            for module, adapter in split.adapters():
                for part in PARTS:
                    expected = adapter.take(part, getattr(whole[module], part).grad)
                    found = getattr(adapter, part).grad
                    close(found, expected, given["tolerance"], f"{where}: gradient of {module}.{part}")
        chosen = Executor(split).run(rows)
        close(chosen.loss, loss, given["tolerance"], f"{name}: the planner's own choice")
        if len(set(gather_control_text(groups, str(chosen.decisions)))) > 1:
            raise AssertionError(f"{name}: ranks chose different layouts")


Outcome = dict[str, dict[str, torch.Tensor]]


def check_narrow(groups: Groups, given: dict) -> None:
    """Every layout on these ranks, against no sharing on one: no further than one rank's own layouts are.

    Logits and gradients have a spread over the layouts of one rank; `factor` times it is allowed.
    """
    config = ModelConfig(**given["config"])
    alone, split = build_model(config, single_process(), 3), build_model(config, groups, 3)
    rows = [np.array(row) for row in given["rows"]]
    candidates = mandatory_candidates(tree := build_prefix_tree(rows))
    expected = outcome(alone, rows, plan_layout(tree, ()))
    spread = furthest([outcome(alone, rows, c.layout) for c in candidates], expected)
    takes = {f"{name}.{part}": (adapter, part) for name, adapter in split.adapters() for part in PARTS}
    whole = expected["gradients"]
    expected["gradients"] = {name: takes[name][0].take(takes[name][1], whole[name]) for name in whole}
    found = furthest([outcome(split, rows, c.layout) for c in candidates], expected)
    # The loss, one number, may agree by chance: it is held to the logits that it is made of.
    for kind, yardstick in {"loss": "logits", "logits": "logits", "gradients": "gradients"}.items():
        assert 1e-6 < spread[yardstick] < 0.1, f"{kind} of one rank: {spread}"
        assert found[kind] <= given["factor"] * spread[yardstick], f"{kind}: {found}, one rank {spread}"


def outcome(model: Decoder, rows: list, layout: Layout) -> Outcome:
    loss = forward_backward(model, plan := prepare(model, rows, layout))
    return {
        "loss": {"loss": torch.tensor(loss)},
        "logits": {str(row): logits for row, logits in enumerate(per_row_logits(model, plan))},
        "gradients": {
            f"{name}.{part}": getattr(adapter, part).grad.clone()
            for name, adapter in model.adapters()
            for part in PARTS
        },
    }


def furthest(outcomes: list[Outcome], expected: Outcome) -> dict[str, float]:
    """By kind, the largest distance of an outcome relative to the expected one's norm."""

    def flat(tensors: dict[str, torch.Tensor]) -> torch.Tensor:
        return torch.cat([tensors[name].double().reshape(-1) for name in sorted(tensors)])

    return {
        kind: max(
            float((flat(found[kind]) - flat(tensors)).norm() / flat(tensors).norm()) for found in outcomes
        )
        for kind, tensors in expected.items()
    }


def relative_difference(found: torch.Tensor, expected: torch.Tensor) -> float:
    scale = max(float(expected.abs().max()), 1e-30)
    return float((found.double() - expected.double()).abs().max()) / scale


def close(found, expected, tolerance: float, where: str) -> None:
    found, expected = torch.as_tensor(found), torch.as_tensor(expected)
    error = relative_difference(found, expected)
    if not error <= tolerance:
        raise AssertionError(f"{where}: relative difference {error:.2e}, allowed {tolerance:.0e}")


def check_collectives(groups: Groups, given: dict) -> None:
    """Forward values and gradients of the four collectives on two ranks of one axis."""
    axis = groups.tp if groups.tp.size > 1 else groups.cp
    other = 1 - axis.rank
    mine = torch.arange(4.0).view(2, 2) + 10 * axis.rank
    theirs = torch.arange(4.0).view(2, 2) + 10 * other
    weight = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    cases = {
        "replicate": (replicate, weight, mine, weight + 5 * weight),
        "reduce": (reduce, weight, mine + theirs, weight if axis.rank == 0 else 5 * weight),
        "exchange": (
            exchange,
            weight,
            torch.stack([mine, theirs] if axis.rank == 0 else [theirs, mine])[:, axis.rank],
            None,
        ),
    }
    for name, (function, grad, value, expected) in cases.items():
        x = mine.clone().requires_grad_()
        out = function(x, axis)
        assert torch.equal(out.detach(), value), f"{name}: {out}"
        out.backward(grad * (1 if axis.rank == 0 else 5))
        if name == "exchange":
            expected = torch.stack([weight[axis.rank], 5 * weight[axis.rank]])
        assert torch.equal(x.grad, expected), f"{name}: gradient {x.grad}, expected {expected}"
    x = mine.clone().requires_grad_()
    out = gather(x, axis)
    assert torch.equal(out.detach(), torch.cat([mine, theirs] if axis.rank == 0 else [theirs, mine]))
    out.backward(torch.arange(8.0).view(4, 2) * (1 if axis.rank == 0 else 5))
    assert torch.equal(x.grad, 6 * torch.arange(8.0).view(4, 2)[2 * axis.rank : 2 * axis.rank + 2])
    check_exchange_of_rows(axis)
    assert torch.equal(all_gather(mine, axis), out.detach())
    assert torch.equal(all_reduce(mine.clone(), axis), mine + theirs)
    assert gather_control(groups, [groups.rank, 7]) == [[0, 7], [1, 7]]
    assert gather_control_text(groups, f"rank {groups.rank}") == ["rank 0", "rank 1"]
    assert groups.last.record["operation"] == "gather_control_text"


def check_exchange_of_rows(axis: Axis) -> None:
    """Rank 0 keeps nothing and sends 3 rows; rank 1 keeps 2 and sends none."""
    send, receive = ([0, 3], [0, 0]) if axis.rank == 0 else ([0, 2], [3, 2])
    x = (torch.arange(2.0 * sum(send)).view(-1, 2) + 100 * axis.rank).requires_grad_()
    out = exchange_rows(x, axis, send, receive)
    values = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [100.0, 101.0], [102.0, 103.0]]
    expected = torch.tensor(values) if axis.rank == 1 else torch.empty(0, 2)
    assert torch.equal(out.detach(), expected), out
    out.backward(expected * 7)
    assert torch.equal(x.grad, 7 * x.detach()), x.grad


def check_budget(groups: Groups, given: dict) -> None:
    """Ranks with other room and other profiles split alike, and the step is that of the whole batch."""
    model = build_model(ModelConfig(**given["config"]), groups, 3)
    rows = [np.array(row) for row in given["rows"]]
    tree = build_prefix_tree(rows)
    whole = plan_layout(tree, tree.decisions)
    loss = forward_backward(model, prepare(model, rows, whole))
    expected = {name: p.grad.clone() for name, p in model.named_parameters()}
    profile = learn_profile([Observation(ForwardSize(100, 100), 100_000 + groups.rank, 10_000)])
    signature = memory_signature(model, "cpu", grad=True, outputs="loss")
    said: list = []
    executor = BudgetedExecutor(
        model,
        signature,
        Pricing(ModelFloor(), profile),
        report=lambda type_, record: said.append((type_, record.plain())),
    )
    step = executor.run(rows, given["limits"][groups.rank])
    ((type_, record),) = said
    assert type_ == "admission.split" and len(record["parts"]) == given["parts"], record
    assert record["usable_limit_bytes"] == min(given["limits"])
    if len(set(gather_control_text(groups, json.dumps(record)))) > 1:
        raise AssertionError(f"ranks split differently: {record}")
    close(step.loss, loss, given["tolerance"], "loss")
    for name, parameter in model.named_parameters():
        close(parameter.grad, expected[name], given["tolerance"], f"gradient of {name}")
    try:
        executor.run(rows, 10 if groups.rank else 10**9)
    except MemoryBudgetError as error:
        assert error.usable_limit_bytes == 10
    else:
        raise AssertionError("a rank without room did not refuse for all")


def check_layouts(groups: Groups, given: dict) -> None:
    """Equal cells agree; a rank with other rows, be it one token of the same tree, stops all of them."""
    plans = [CellPlan.parse(plan, where="given") for plan in given["plans"]]
    cells = [prepare_cell(plan, AutomaticChoice()) for plan in plans]
    digests = gather_control_text(groups, require_same_layouts(cells[0], groups))
    assert len(set(digests)) == 1
    for other in cells[1:]:
        try:
            require_same_layouts(other if groups.rank else cells[0], groups)
        except RanksDisagreeError:
            continue
        raise AssertionError("ranks with different rows went on")


CHECKS = {
    "layouts": check_layouts,
    "budget": check_budget,
    "equality": check_equality,
    "narrow": check_narrow,
    "collectives": check_collectives,
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    check, rank, tp, cp, store, path = sys.argv[1:]
    given = json.loads(Path(path).read_text())
    world = open_groups(
        tp=int(tp),
        cp=int(cp),
        ep=given.get("ep", 1),
        etp=given.get("etp", 1),
        rank=int(rank),
        world_size=int(tp) * int(cp),
        init_method=f"file://{store}",
        timeout_s=300,
        control_timeout_s=300,
    )
    CHECKS[check](world, given)
    close_groups(world)
    print("held")
