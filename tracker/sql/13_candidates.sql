CREATE VIEW candidates AS
SELECT
    listed.campaign, listed.cell, listed.attempt, candidate, automatic, attempts.counts, labels, decisions,
    packed_tokens, segment_count, max_depth, segments_below, imported_median_ms, imported_n, imported_spread_pct
FROM _listed AS listed
JOIN attempts ON attempts.campaign = listed.campaign AND attempts.cell = listed.cell
    AND attempts.attempt = listed.attempt
ORDER BY listed.campaign, listed.cell, listed.attempt, candidate;

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
