CREATE VIEW exclusions AS
SELECT
    campaign, cell, data ->> '$.reason' AS reason, coalesce(data ->> '$.reference', '') AS reference,
    data ->> '$.by' AS "by", time, segment
FROM _facts
WHERE type = 'cell.excluded'
-- Said again, the last word holds; the earlier ones stay in events.
QUALIFY row_number() OVER (PARTITION BY campaign, cell ORDER BY segment DESC, seq DESC) = 1
ORDER BY campaign, cell;

COMMENT ON VIEW exclusions IS 'Cells taken out of the fit, with the reason that holds';
COMMENT ON COLUMN exclusions.campaign IS 'Campaign';
COMMENT ON COLUMN exclusions.cell IS 'Key of the cell';
COMMENT ON COLUMN exclusions.reason IS 'Why';
COMMENT ON COLUMN exclusions.reference IS 'Where more is said';
COMMENT ON COLUMN exclusions.by IS 'Who excluded it';
COMMENT ON COLUMN exclusions.time IS 'When, UTC';
COMMENT ON COLUMN exclusions.segment IS 'Segment that records it';
