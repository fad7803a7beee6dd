CREATE VIEW candidates AS
WITH listed AS (
    SELECT campaign, cell, segment, seq, candidate.*
    FROM (
        SELECT campaign, cell, segment, seq, unnest(list_concat(
            list_transform(candidates, lambda item: struct_pack(candidate := item, automatic := false)),
            list_transform([automatic], lambda item: struct_pack(candidate := item, automatic := true))
        )) AS candidate
        FROM _facts
        WHERE type IN ('cell.described', 'cell.imported')
    )
    WHERE candidate.candidate IS NOT NULL
)
SELECT
    listed.campaign, listed.cell, listed.segment AS attempt,
    CASE WHEN automatic THEN 'automatic' ELSE candidate.label END AS candidate,
    automatic, attempts.counts, coalesce(candidate.labels, [candidate.label]) AS labels, candidate.decisions,
    candidate.features.packed_tokens, candidate.features.segment_count, candidate.features.max_depth,
    candidate.features.segments_below,
    candidate.median_ms AS imported_median_ms, candidate.n AS imported_n,
    candidate.spread_pct AS imported_spread_pct
FROM listed
JOIN attempts ON attempts.campaign = listed.campaign AND attempts.cell = listed.cell
    AND attempts.attempt = listed.segment
QUALIFY row_number() OVER (
    PARTITION BY listed.campaign, listed.cell, listed.segment, automatic, candidate.label ORDER BY seq DESC
) = 1
ORDER BY listed.campaign, listed.cell, attempt, candidate;

COMMENT ON VIEW candidates IS 'The layouts of each attempt, the planner''s automatic choice among them';
COMMENT ON COLUMN candidates.campaign IS 'Campaign';
COMMENT ON COLUMN candidates.cell IS 'Key of the cell';
COMMENT ON COLUMN candidates.attempt IS 'Segment id of the attempt';
COMMENT ON COLUMN candidates.candidate IS 'Its first label; automatic for the planner''s choice';
COMMENT ON COLUMN candidates.automatic IS 'Whether it is the planner''s choice rather than a mandatory candidate';
COMMENT ON COLUMN candidates.counts IS 'Whether the attempt stands for its cell';
COMMENT ON COLUMN candidates.labels IS 'Every policy that gives this layout';
COMMENT ON COLUMN candidates.decisions IS 'Shared decisions; null where the source did not record them';
COMMENT ON COLUMN candidates.packed_tokens IS 'Tokens that the layout computes';
COMMENT ON COLUMN candidates.segment_count IS 'Physical segments';
COMMENT ON COLUMN candidates.max_depth IS 'Levels; no sharing is 1';
COMMENT ON COLUMN candidates.segments_below IS 'Segments shorter than 64, 128, ... 8192 tokens';
COMMENT ON COLUMN candidates.imported_median_ms IS 'Median that the source of an imported cell gives, ms';
COMMENT ON COLUMN candidates.imported_n IS 'Samples that the source of an imported cell gives';
COMMENT ON COLUMN candidates.imported_spread_pct IS 'Spread that the source of an imported cell gives, percent';
