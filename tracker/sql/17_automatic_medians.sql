CREATE VIEW automatic_medians AS
SELECT measured.campaign, measured.cell, measured.attempt, candidate, 'measured' AS source,
    median_ms, n, spread_pct, min_ms, max_ms
FROM attempt_medians AS measured
JOIN attempts ON attempts.campaign = measured.campaign AND attempts.cell = measured.cell
    AND attempts.attempt = measured.attempt AND attempts.counts AND attempts.state = 'completed'
WHERE candidate = 'automatic'
ORDER BY campaign, cell, candidate;

COMMENT ON VIEW automatic_medians IS 'What the planner''s own choice measured, from the attempt that counts';
COMMENT ON COLUMN automatic_medians.campaign IS 'Campaign';
COMMENT ON COLUMN automatic_medians.cell IS 'Key of the cell';
COMMENT ON COLUMN automatic_medians.attempt IS 'Segment id of the attempt that counts';
COMMENT ON COLUMN automatic_medians.candidate IS 'Label of the candidate';
COMMENT ON COLUMN automatic_medians.source IS 'measured or imported';
COMMENT ON COLUMN automatic_medians.median_ms IS 'Exact median of the usable measured samples, milliseconds';
COMMENT ON COLUMN automatic_medians.n IS 'How many';
COMMENT ON COLUMN automatic_medians.spread_pct IS '(max - min) / median, percent';
COMMENT ON COLUMN automatic_medians.min_ms IS 'Least, milliseconds; null where imported';
COMMENT ON COLUMN automatic_medians.max_ms IS 'Greatest, milliseconds; null where imported';
