"""Every layout gives what no sharing gives: per-row logits, loss, adapter gradients, on every topology."""

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch

from harness._comm import single_process
from harness._executor import Executor
from harness._step import forward_backward, per_row_logits, prepare
from harness._workload import generate_rows
from harness.model import ModelConfig, preset
from harness.model._decoder import build_model
from harness.model._experts import Experts
from harness.model._naive import naive_loss, naive_row_logits
from planner import build_prefix_tree, mandatory_candidates
from schemas import InvalidInputError

HYBRID = ModelConfig(
    hidden=24,
    layers=4,
    heads=4,
    kv_heads=2,
    head_dim=6,
    ffn=20,
    vocab=50,
    attention_interval=2,
    gdn_key_heads=4,
    gdn_value_heads=8,
    gdn_key_dim=5,
    gdn_value_dim=3,
    gdn_chunk=4,
    lora_rank=3,
    dtype="float64",
)
ATTENTION = replace(
    HYBRID,
    layers=2,
    attention_interval=1,
    gdn_key_heads=0,
    gdn_value_heads=0,
    gdn_key_dim=0,
    gdn_value_dim=0,
)

MOE = replace(ATTENTION, kv_heads=4, ffn=0, moe_experts=8, moe_topk=3, moe_ffn=12, moe_shared_ffn=8)
MOE_HYBRID = replace(
    HYBRID, layers=2, kv_heads=4, ffn=0, moe_experts=4, moe_topk=2, moe_ffn=8, moe_shared_ffn=0
)


def batches() -> dict[str, list[list[int]]]:
    """Small batches of odd lengths, each with another kind of tree."""
    draw = np.random.default_rng(5)

    def piece(length: int) -> list[int]:
        return [int(token) for token in draw.integers(0, 50, length)]

    system, prompts, chain = piece(7), [piece(5), piece(1)], piece(6)
    spine = piece(9)
    return {
        "grpo": [system + prompt + piece(3) for prompt in prompts for _ in range(3)],
        "one-token ancestors": [[*chain[: at + 1], 40 + at, *piece(2)] for at in range(5)],
        "caterpillar": [spine[: 3 * at + 3] + piece(at + 1) for at in range(3)],
        "prefixes and duplicates": [spine[:4], spine, spine, spine[:1], [*spine[:7], 49]],
        "nothing shared": [[3], [4, 5], piece(11)],
        "forest": [p + piece(n) for p in (piece(5), piece(2)) for n in (1, 9)],
    }


def gradients(model) -> dict[str, torch.Tensor]:
    return {name: parameter.grad.clone() for name, parameter in model.named_parameters()}


def relative_error(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).abs().max() / expected.abs().max())


@contextmanager
def routing_margins(model):
    """How far the last chosen expert's logit lay above the first one not chosen, the least of each call."""
    margins: list[float] = []

    def watch(layer: Experts, given: tuple[torch.Tensor]) -> None:
        logits = (given[0] @ layer.router.t()).sort(-1, descending=True)[0]
        topk = layer.config.moe_topk
        margins.append(float((logits[:, topk - 1] - logits[:, topk]).detach().min()))

    hooks = [
        module.register_forward_pre_hook(watch) for module in model.modules() if isinstance(module, Experts)
    ]
    yield margins
    for hook in hooks:
        hook.remove()


@pytest.mark.parametrize(
    "config", [HYBRID, ATTENTION, MOE, MOE_HYBRID], ids=["hybrid", "attention", "experts", "hybrid experts"]
)
@pytest.mark.parametrize("name", batches())
def test_every_candidate_layout_equals_the_row_by_row_recurrent_model(config: ModelConfig, name: str):
    rows = [torch.tensor(row) for row in batches()[name]]
    model = build_model(config, single_process(), seed=3)
    expected_loss = naive_loss(model, rows)
    expected_loss.backward()
    expected_gradients = gradients(model)
    expected_logits = [naive_row_logits(model, row).detach() for row in rows]
    for candidate in mandatory_candidates(build_prefix_tree(rows)):
        plan = prepare(model, rows, candidate.layout)
        assert forward_backward(model, plan) == pytest.approx(expected_loss.item(), rel=1e-12)
        for parameter, found in gradients(model).items():
            torch.testing.assert_close(found, expected_gradients[parameter], rtol=1e-8, atol=1e-12)
        for found, expected in zip(per_row_logits(model, plan), expected_logits, strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("config", [HYBRID, MOE], ids=["hybrid", "experts"])
def test_layouts_agree_in_float32_too(config: ModelConfig):
    model = build_model(replace(config, dtype="float32"), single_process(), seed=3)
    rows = batches()["grpo"]
    candidates = mandatory_candidates(build_prefix_tree(rows))
    results = []
    with routing_margins(model) as margins:
        for candidate in candidates:
            plan = prepare(model, rows, candidate.layout)
            forward_backward(model, plan)
            results.append((gradients(model), per_row_logits(model, plan)))
    assert len(results) > 2
    assert min(margins, default=1.0) > 1e-5
    for found in results[1:]:
        for parameter, expected in results[0][0].items():
            assert relative_error(found[0][parameter], expected) < 1e-4, parameter
        for logits, expected in zip(found[1], results[0][1], strict=True):
            assert relative_error(logits, expected) < 1e-5


def case(config: ModelConfig, names: Sequence[str], tolerance: float = 1e-10) -> dict[str, Any]:
    """What `rank_program` compares with one rank."""
    return {
        "config": asdict(config),
        "batches": {name: batches()[name] for name in names},
        "tolerance": tolerance,
    }


@pytest.mark.parametrize(("tp", "cp"), [(2, 1), (1, 2)])
def test_every_candidate_layout_on_two_ranks_equals_one_rank(run_ranks, tp: int, cp: int):
    names = ("one-token ancestors", "caterpillar", "nothing shared")
    run_ranks("equality", tp=tp, cp=cp, given={"cases": [case(replace(HYBRID, layers=2), names)]})


@pytest.mark.parametrize(
    ("tp", "cp", "ep", "etp"),
    [
        (1, 2, 2, 1),
        pytest.param(2, 1, 1, 1, marks=pytest.mark.slow(seconds=30)),
        pytest.param(2, 1, 1, 2, marks=pytest.mark.slow(seconds=30)),
    ],
    ids=["cp2ep2", "tp2", "tp2etp2"],
)
def test_experts_on_two_ranks_equal_one_rank(run_ranks, tp: int, cp: int, ep: int, etp: int):
    cases = [case(MOE, ("caterpillar", "nothing shared"))]
    run_ranks("equality", tp=tp, cp=cp, given={"cases": cases, "ep": ep, "etp": etp})


GRPO = {"prompts": 2, "completions": 3, "system": 37, "prompt": 21, "completion": 9}
NARROW = {
    "hybrid": {
        "config": asdict(replace(preset("hybrid-small"), kv_heads=4, dtype="bfloat16")),
        "rows": [row.tolist() for row in generate_rows("grpo", GRPO, vocabulary=256)],
    },
    "experts": {"config": asdict(replace(MOE, dtype="bfloat16")), "rows": batches()["grpo"]},
}


@pytest.mark.parametrize(
    ("kind", "tp", "cp", "ep"),
    [
        ("hybrid", 1, 2, 1),
        pytest.param("experts", 1, 2, 2, marks=pytest.mark.slow(seconds=30)),
        pytest.param("hybrid", 2, 1, 1, marks=pytest.mark.slow(seconds=30)),
        pytest.param("hybrid", 2, 2, 1, marks=pytest.mark.slow(seconds=30)),
        pytest.param("experts", 2, 2, 4, marks=pytest.mark.slow(seconds=30)),
    ],
)
def test_bfloat16_ranks_stay_within_the_divergence_of_one_ranks_layouts(
    run_ranks, kind: str, tp: int, cp: int, ep: int
):
    # Context and expert ranks add no rounding of their own; tensor ranks round every partial sum, at each
    # layer and of all tokens, where one rank's layouts differ in the order of few sums.
    factor = 2 if tp == 1 else 15
    run_ranks("narrow", tp=tp, cp=cp, given={**NARROW[kind], "factor": factor, "ep": ep})


SHAPES = [
    (tp, cp, ep, etp)
    for tp, cp in ((2, 1), (1, 2), (2, 2), (4, 1), (1, 4))
    for ep in (1, 2, 4)
    for etp in (1, 2)
    if tp % etp == 0 and tp * cp // etp % ep == 0
]


@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize(("tp", "cp", "ep", "etp"), SHAPES)
def test_every_candidate_layout_on_every_topology_equals_one_rank(
    run_ranks, tp: int, cp: int, ep: int, etp: int
):
    cases = [case(MOE, batches()), case(MOE_HYBRID, ("caterpillar", "nothing shared"))]
    cases.append(case(replace(MOE, dtype="float32"), ("grpo",), 2e-4))
    if ep == etp == 1:
        dense = [replace(config, kv_heads=4) for config in (HYBRID, ATTENTION)]
        cases += [case(config, batches()) for config in dense]
        cases += [case(replace(config, dtype="float32"), ("grpo", "caterpillar"), 2e-4) for config in dense]
    run_ranks("equality", tp=tp, cp=cp, given={"cases": cases, "ep": ep, "etp": etp})


def test_production_runs_the_planners_choice_and_offers_no_other():
    model = build_model(HYBRID, single_process(), seed=3)
    rows = batches()["grpo"]
    result = Executor(model).run(rows)
    expected = naive_loss(model, [torch.tensor(row) for row in rows])
    assert result.loss == pytest.approx(float(expected.detach()), rel=1e-12)
    with pytest.raises(TypeError):
        Executor(model).run(rows, ())  # type: ignore[call-arg]


def test_a_repeated_step_gives_the_same_loss_and_gradients_bit_for_bit():
    model = build_model(HYBRID, single_process(), seed=3)
    rows = batches()["caterpillar"]
    plan = prepare(model, rows, mandatory_candidates(build_prefix_tree(rows))[-1].layout)
    first = forward_backward(model, plan), gradients(model)
    second = forward_backward(model, plan), gradients(model)
    assert first[0] == second[0]
    assert all(torch.equal(first[1][name], second[1][name]) for name in first[1])


def test_a_token_outside_the_vocabulary_is_refused():
    model = build_model(ATTENTION, single_process(), seed=3)
    tree = build_prefix_tree([[1, 50]])
    with pytest.raises(InvalidInputError, match=r"vocabulary is 0 to 49"):
        prepare(model, [[1, 50]], mandatory_candidates(tree)[0].layout)
