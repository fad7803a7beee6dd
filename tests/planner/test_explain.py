from io import StringIO

import pytest
from rich.console import Console

from planner import Planner, load


@pytest.fixture
def plan(write_bundle, make_grpo, h200_runtime):
    return Planner(load(write_bundle("h200").path)).select(make_grpo(2, 8, (2048, 8192, 512)), h200_runtime)


def rendered(plan):
    console = Console(file=StringIO(), width=160)
    console.print(plan.explain())
    return console.file.getvalue()


def test_the_tables_say_what_was_picked_why_and_what_else(plan):
    text = rendered(plan)
    for said in (
        "16 rows, 172,032 tokens, 3 decisions: 28,672 tokens packed",
        "table h200 (exact search)",
        "version 1 would pick",
        "no sharing",
        "token_per_rank",
        "28,672",
        "26,624",
        "8, 9, 10, 11, 12, 13, ... (8)",
    ):
        assert said in text


def test_terms_that_nobody_pays_are_left_out(plan):
    assert "gdn_level_tp" not in rendered(plan)


def test_a_refused_table_is_named(write_bundle, make_grpo, cpu_runtime):
    with pytest.warns(UserWarning):
        plan = Planner(load(write_bundle("h200").path)).select(make_grpo(2, 2, (9, 9, 9)), cpu_runtime)
    assert "h200 does not apply: device class" in rendered(plan)
    assert "table hand-set" in rendered(plan)


def test_the_figure_has_a_box_a_segment(plan):
    axes = plan.figure().axes[0]
    boxes = {(box.get_x(), box.get_width(), box.get_y(), box.get_height()) for box in axes.patches}
    assert boxes == {
        (node.start, node.end - node.start, node.first_row, node.row_count) for node in plan.tree.segments
    }
    assert "28,672 of 172,032 tokens" in axes.get_title()
