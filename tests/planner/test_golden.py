"""The origin project's planner, record by record."""

from planner import ScoringFacts, build_prefix_tree, mandatory_candidates, select_layout


def test_trees_agree(golden_cases, make_rows):
    for case in golden_cases:
        tree = build_prefix_tree(make_rows(case["rows"]))
        found = [[n.parent, n.start, n.end, n.depth, list(n.rows)] for n in tree.segments]
        assert found == case["tree"], case["name"]
        assert list(tree.decisions) == case["decision_indices"], case["name"]


def test_mandatory_candidates_agree(golden_cases, make_rows):
    for case in golden_cases:
        found = [
            {
                "labels": list(candidate.labels),
                "decisions": list(candidate.decisions),
                "effective_span_thresholds": list(candidate.span_thresholds),
                "packed_tokens": candidate.layout.packed_tokens,
                "maximum_depth": candidate.layout.max_depth,
                "segment_count": candidate.layout.segment_count,
                "segments_below": list(candidate.layout.features.segments_below),
            }
            for candidate in mandatory_candidates(build_prefix_tree(make_rows(case["rows"])))
        ]
        assert found == case["candidates"], case["name"]


def test_bounded_selections_agree(golden_cases, make_rows, dense_table):
    for case in golden_cases:
        tree = build_prefix_tree(make_rows(case["rows"]))
        for expected in case["selections"]:
            found = select_layout(
                tree,
                ScoringFacts(*expected["facts"]),
                dense_table if expected["version"] == 2 else None,
                refinement_budget=expected["budget"],
            )
            where = case["name"], expected["facts"], expected["version"]
            assert list(found.score) == expected["score"], where
            assert list(found.decisions) == expected["decisions"], where
            assert found.layout.packed_tokens == expected["packed_tokens"], where
            assert found.layout.segment_count == expected["segment_count"], where
            assert found.layout.max_depth == expected["maximum_depth"], where
