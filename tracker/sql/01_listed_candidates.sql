-- The layouts that the lines of an attempt list, the planner's automatic choice among them; said again, the last word holds.
CREATE OR REPLACE MACRO listed_candidates(lines) AS TABLE
SELECT
    campaign, cell, segment AS attempt,
    CASE WHEN listed.automatic THEN 'automatic' ELSE listed.item.label END AS candidate,
    listed.automatic AS automatic, coalesce(listed.item.labels, [listed.item.label]) AS labels,
    listed.item.decisions AS decisions, listed.item.features.packed_tokens AS packed_tokens,
    listed.item.features.segment_count AS segment_count, listed.item.features.max_depth AS max_depth,
    listed.item.features.segments_below AS segments_below, listed.item.median_ms AS imported_median_ms,
    listed.item.n AS imported_n, listed.item.spread_pct AS imported_spread_pct
FROM (
    SELECT campaign, cell, segment, seq, unnest(list_concat(
        list_transform(candidates, lambda item: struct_pack(item := item, automatic := false)),
        list_transform([automatic], lambda item: struct_pack(item := item, automatic := true))
    )) AS listed
    FROM query_table(lines)
    WHERE type IN ('cell.described', 'cell.imported')
)
WHERE listed.item IS NOT NULL
QUALIFY row_number() OVER (
    PARTITION BY campaign, cell, segment, listed.automatic, listed.item.label ORDER BY seq DESC
) = 1;
