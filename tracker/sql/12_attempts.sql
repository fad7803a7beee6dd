CREATE VIEW attempts AS
SELECT
    campaign, cell, attempt, number,
    CASE outcome
        WHEN 'cell.completed' THEN 'completed'
        WHEN 'cell.imported' THEN 'imported'
        WHEN 'cell.failed' THEN 'failed'
        ELSE 'interrupted'
    END AS state,
    -- Whole attempts count, never parts of several: of the good ones the one begun last; ids sort by time.
    coalesce(outcome IN ('cell.completed', 'cell.imported'), false)
        AND row_number() OVER (
            PARTITION BY campaign, cell, coalesce(outcome IN ('cell.completed', 'cell.imported'), false)
            ORDER BY attempt DESC
        ) = 1 AS counts,
    CASE WHEN outcome = 'cell.failed' THEN failure END AS failure,
    engine, coalesce(started, ended) AS started, ended, wall_s, candidates,
    CAST(imported_samples AS BIGINT) AS imported_samples, identity, facts, fingerprint, environment,
    stopped, rounds_saved
FROM _outcomes
ORDER BY campaign, cell, attempt;

COMMENT ON VIEW attempts IS 'Executions of cells, and imports of cells; one row an attempt and cell';
COMMENT ON COLUMN attempts.campaign IS 'Campaign';
COMMENT ON COLUMN attempts.cell IS 'Key of the cell';
COMMENT ON COLUMN attempts.attempt IS 'Segment id of the attempt; ids sort by time of opening';
COMMENT ON COLUMN attempts.number IS 'Number within the cell, from 1; null for imports';
COMMENT ON COLUMN attempts.state IS 'completed, failed, interrupted or imported';
COMMENT ON COLUMN attempts.counts IS 'Whether this attempt stands for its cell: of the completed and imported the one begun last';
COMMENT ON COLUMN attempts.failure IS 'Kind of failure';
COMMENT ON COLUMN attempts.engine IS 'Engine that ran it';
COMMENT ON COLUMN attempts.started IS 'When it began, UTC';
COMMENT ON COLUMN attempts.ended IS 'When its outcome was recorded, UTC';
COMMENT ON COLUMN attempts.wall_s IS 'Wall time in seconds';
COMMENT ON COLUMN attempts.candidates IS 'Mandatory candidates that it lists';
COMMENT ON COLUMN attempts.imported_samples IS 'Samples that the source of an imported cell gives, over its candidates';
COMMENT ON COLUMN attempts.identity IS 'Workload, family, model, layers, shape, group';
COMMENT ON COLUMN attempts.facts IS 'What the cost terms read of the cell beside the layout';
COMMENT ON COLUMN attempts.fingerprint IS 'Execution fingerprint: samples with different ones never mix';
COMMENT ON COLUMN attempts.environment IS 'Versions, device, load, affinity at the start';
COMMENT ON COLUMN attempts.stopped IS 'Under an adaptive protocol, why it ended: separated, or budget where every round was run; else null';
COMMENT ON COLUMN attempts.rounds_saved IS 'Rounds of an adaptive protocol that were not needed; else null';
