CREATE VIEW candidate_medians AS
SELECT measured.campaign, measured.cell, measured.attempt, candidate, 'measured' AS source,
    median_ms, n, spread_pct, min_ms, max_ms
FROM attempt_medians AS measured
JOIN attempts ON attempts.campaign = measured.campaign AND attempts.cell = measured.cell
    AND attempts.attempt = measured.attempt AND attempts.counts AND attempts.state = 'completed'
WHERE candidate <> 'automatic'
UNION ALL
SELECT imported.campaign, imported.cell, segment, candidate.label, 'imported',
    candidate.median_ms, candidate.n, candidate.spread_pct, NULL, NULL
FROM (
    SELECT campaign, cell, segment, unnest(candidates) AS candidate FROM _facts WHERE type = 'cell.imported'
) AS imported
JOIN attempts ON attempts.campaign = imported.campaign AND attempts.cell = imported.cell
    AND attempts.attempt = imported.segment AND attempts.counts AND attempts.state = 'imported'
ORDER BY campaign, cell, candidate;

COMMENT ON VIEW candidate_medians IS 'What each mandatory candidate measured, from the attempt that counts; imported cells with the same columns';
COMMENT ON COLUMN candidate_medians.campaign IS 'Campaign';
COMMENT ON COLUMN candidate_medians.cell IS 'Key of the cell';
COMMENT ON COLUMN candidate_medians.attempt IS 'Segment id of the attempt that counts';
COMMENT ON COLUMN candidate_medians.candidate IS 'Label of the candidate';
COMMENT ON COLUMN candidate_medians.source IS 'measured or imported';
COMMENT ON COLUMN candidate_medians.median_ms IS 'Exact median of the usable measured samples, milliseconds';
COMMENT ON COLUMN candidate_medians.n IS 'How many';
COMMENT ON COLUMN candidate_medians.spread_pct IS '(max - min) / median, percent';
COMMENT ON COLUMN candidate_medians.min_ms IS 'Least, milliseconds; null where imported';
COMMENT ON COLUMN candidate_medians.max_ms IS 'Greatest, milliseconds; null where imported';
