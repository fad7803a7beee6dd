CREATE VIEW certificate_candidates AS
SELECT
    cells.campaign, cells.cell, candidates.candidate AS label, candidates.decisions,
    struct_pack(
        packed_tokens := candidates.packed_tokens, segment_count := candidates.segment_count,
        max_depth := candidates.max_depth, segments_below := candidates.segments_below
    ) AS features,
    medians.median_ms, coalesce(medians.n, 0) AS n, medians.spread_pct
FROM certificate_cells AS cells
JOIN candidates ON candidates.campaign = cells.campaign AND candidates.cell = cells.cell
    AND candidates.attempt = cells.attempt AND NOT candidates.automatic
LEFT JOIN candidate_medians AS medians ON medians.campaign = cells.campaign AND medians.cell = cells.cell
    AND medians.candidate = candidates.candidate
ORDER BY cells.campaign, cells.cell, label;

COMMENT ON VIEW certificate_candidates IS 'Mandatory candidates of the cells that a certificate retains';
COMMENT ON COLUMN certificate_candidates.campaign IS 'Campaign';
COMMENT ON COLUMN certificate_candidates.cell IS 'Key of the cell';
COMMENT ON COLUMN certificate_candidates.label IS 'First label of the candidate';
COMMENT ON COLUMN certificate_candidates.decisions IS 'Shared decisions; null where the source did not record them';
COMMENT ON COLUMN certificate_candidates.features IS 'Layout features';
COMMENT ON COLUMN certificate_candidates.median_ms IS 'Exact median of the usable measured samples, milliseconds; null where there is none';
COMMENT ON COLUMN certificate_candidates.n IS 'How many';
COMMENT ON COLUMN certificate_candidates.spread_pct IS '(max - min) / median, percent';
