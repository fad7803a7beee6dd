CREATE VIEW attempt_medians AS
SELECT campaign, cell, attempt, candidate, median_ms, n, spread_pct, min_ms, max_ms
FROM _medians;

COMMENT ON VIEW attempt_medians IS 'Usable measured samples by attempt and candidate, of every attempt and the automatic choice too';
COMMENT ON COLUMN attempt_medians.campaign IS 'Campaign';
COMMENT ON COLUMN attempt_medians.cell IS 'Key of the cell';
COMMENT ON COLUMN attempt_medians.attempt IS 'Segment id of the attempt';
COMMENT ON COLUMN attempt_medians.candidate IS 'Label of the candidate';
COMMENT ON COLUMN attempt_medians.median_ms IS 'Exact median, milliseconds';
COMMENT ON COLUMN attempt_medians.n IS 'Usable measured samples';
COMMENT ON COLUMN attempt_medians.spread_pct IS '(max - min) / median, percent';
COMMENT ON COLUMN attempt_medians.min_ms IS 'Least, milliseconds';
COMMENT ON COLUMN attempt_medians.max_ms IS 'Greatest, milliseconds';
