CREATE VIEW cells AS
WITH expected AS (
    SELECT campaign, position, cell.* EXCLUDE (cell), cell.cell AS cell
    FROM (
        SELECT campaign, generate_subscripts(expected, 1) AS position, unnest(expected) AS cell FROM campaigns
    )
),
tried AS (
    SELECT
        campaign, cell, count(*) AS attempts, count(*) FILTER (state IN ('failed', 'interrupted')) AS failed_attempts,
        max(attempt) FILTER (counts) AS attempt, any_value(state) FILTER (counts) AS counting_state,
        any_value(identity) FILTER (counts) AS counting_identity, any_value(identity) AS any_identity,
        any_value(fingerprint.dtype) FILTER (counts) AS dtype
    FROM attempts GROUP BY campaign, cell
),
measured AS (
    SELECT campaign, cell, count(*) AS candidates, sum(n) AS usable_samples
    FROM candidate_medians GROUP BY campaign, cell
),
running AS (SELECT DISTINCT campaign, cell FROM _running),
every AS (
    SELECT campaign, cell FROM expected UNION SELECT campaign, cell FROM tried
    UNION SELECT campaign, cell FROM exclusions
)
SELECT
    every.campaign, every.cell, expected.position, expected.cell IS NOT NULL AS expected,
    CASE
        WHEN exclusions.cell IS NOT NULL THEN 'excluded'
        WHEN counting_state IS NOT NULL THEN counting_state
        WHEN running.cell IS NOT NULL THEN 'running'
        WHEN coalesce(tried.failed_attempts, 0) > 0 THEN 'failed'
        ELSE 'missing'
    END AS state,
    coalesce(expected.held_out, false) AS held_out,
    coalesce(tried.attempts, 0) AS attempts, coalesce(tried.failed_attempts, 0) AS failed_attempts,
    coalesce(measured.candidates, 0) AS candidates,
    CAST(coalesce(measured.usable_samples, 0) AS BIGINT) AS usable_samples,
    tried.attempt,
    known.workload, known.family, known.model, known.layers, known.shape.tp, known.shape.cp, known.shape.ep,
    known.shape.etp, known."group" AS group_number,
    coalesce(expected.dtype, tried.dtype) AS dtype, exclusions.reason AS exclusion_reason
FROM (
    SELECT every.*, coalesce(expected.identity, counting_identity, any_identity) AS known
    FROM every
    LEFT JOIN expected ON expected.campaign = every.campaign AND expected.cell = every.cell
    LEFT JOIN tried ON tried.campaign = every.campaign AND tried.cell = every.cell
) AS every
LEFT JOIN expected ON expected.campaign = every.campaign AND expected.cell = every.cell
LEFT JOIN tried ON tried.campaign = every.campaign AND tried.cell = every.cell
LEFT JOIN measured ON measured.campaign = every.campaign AND measured.cell = every.cell
LEFT JOIN running ON running.campaign = every.campaign AND running.cell = every.cell
LEFT JOIN exclusions ON exclusions.campaign = every.campaign AND exclusions.cell = every.cell
ORDER BY every.campaign, expected.position NULLS LAST, every.cell;

COMMENT ON VIEW cells IS 'Every expected cell of every campaign, and unexpected ones that were measured: where it stands';
COMMENT ON COLUMN cells.campaign IS 'Campaign';
COMMENT ON COLUMN cells.cell IS 'Key of the cell';
COMMENT ON COLUMN cells.position IS 'Place in the manifest, from 1; null where unexpected';
COMMENT ON COLUMN cells.expected IS 'Whether the manifest has it';
COMMENT ON COLUMN cells.state IS 'excluded, completed, imported, running, failed or missing; the first that holds. running: an attempt is open, or died and was not recovered';
COMMENT ON COLUMN cells.held_out IS 'Whether the registered holdout rule keeps it from the fit';
COMMENT ON COLUMN cells.attempts IS 'Attempts, imports included';
COMMENT ON COLUMN cells.failed_attempts IS 'Of those, failed or interrupted';
COMMENT ON COLUMN cells.candidates IS 'Mandatory candidates with usable samples';
COMMENT ON COLUMN cells.usable_samples IS 'Usable measured samples, over those candidates';
COMMENT ON COLUMN cells.attempt IS 'Segment id of the attempt that counts';
COMMENT ON COLUMN cells.workload IS 'Workload';
COMMENT ON COLUMN cells.family IS 'Workload family';
COMMENT ON COLUMN cells.model IS 'Model';
COMMENT ON COLUMN cells.layers IS 'Layers';
COMMENT ON COLUMN cells.tp IS 'Tensor parallel size';
COMMENT ON COLUMN cells.cp IS 'Context parallel size';
COMMENT ON COLUMN cells.ep IS 'Expert parallel size';
COMMENT ON COLUMN cells.etp IS 'Expert tensor parallel size';
COMMENT ON COLUMN cells.group_number IS 'Group of the workload, if any';
COMMENT ON COLUMN cells.dtype IS 'Number type';
COMMENT ON COLUMN cells.exclusion_reason IS 'Why it is excluded';
