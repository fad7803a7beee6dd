CREATE VIEW failures AS
SELECT
    failed.campaign, failed.cell, failed.segment AS attempt, attempts.number,
    failed.data ->> '$.kind' AS kind, failed.data ->> '$.message' AS message,
    CAST(failed.data -> '$.exit_codes' AS INTEGER[]) AS exit_codes,
    CAST(failed.data -> '$.last_collectives' AS VARCHAR[]) AS last_collectives,
    failed.data ->> '$.log_tail' AS log_tail,
    CAST(coalesce(failed.data ->> '$.samples', '0') AS BIGINT) AS samples,
    failed.time,
    EXISTS (
        SELECT 1 FROM attempts AS later
        WHERE later.campaign = failed.campaign AND later.cell = failed.cell
            AND later.counts AND later.attempt > failed.segment
    ) AS resolved
FROM _facts AS failed
LEFT JOIN attempts ON attempts.campaign = failed.campaign AND attempts.cell = failed.cell
    AND attempts.attempt = failed.segment
WHERE failed.type = 'cell.failed'
ORDER BY failed.campaign, failed.cell, failed.segment;

COMMENT ON VIEW failures IS 'Failed attempts: what failed and why';
COMMENT ON COLUMN failures.campaign IS 'Campaign';
COMMENT ON COLUMN failures.cell IS 'Key of the cell';
COMMENT ON COLUMN failures.attempt IS 'Segment id of the attempt';
COMMENT ON COLUMN failures.number IS 'Number within the cell';
COMMENT ON COLUMN failures.kind IS 'Kind of failure: exception, killed, timeout, out_of_memory, interrupted, ...';
COMMENT ON COLUMN failures.message IS 'What happened';
COMMENT ON COLUMN failures.exit_codes IS 'Exit status by rank; null for a rank that had none';
COMMENT ON COLUMN failures.last_collectives IS 'Last collective by rank';
COMMENT ON COLUMN failures.log_tail IS 'End of the worker''s log';
COMMENT ON COLUMN failures.samples IS 'Samples that the attempt had recorded';
COMMENT ON COLUMN failures.time IS 'When it was recorded, UTC';
COMMENT ON COLUMN failures.resolved IS 'Whether a later attempt of the cell completed';
