CREATE VIEW cells AS
WITH expected AS (
    SELECT campaign, position, item.cell AS cell, item.identity AS identity, item.dtype AS dtype,
        item.held_out AS held_out
    FROM (SELECT campaign, generate_subscripts(expected, 1) AS position, unnest(expected) AS item FROM campaigns)
),
tried AS (
    SELECT
        campaign, cell, count(*) AS attempts,
        count(*) FILTER (state IN ('failed', 'interrupted')) AS failed_attempts,
        max(attempt) FILTER (counts) AS attempt, any_value(state) FILTER (counts) AS state,
        any_value(identity) AS identity, any_value(fingerprint.dtype) FILTER (counts) AS dtype,
        any_value(candidates) FILTER (counts) AS candidates,
        any_value(imported_samples) FILTER (counts) AS imported_samples
    FROM attempts
    GROUP BY campaign, cell
),
measured AS (
    SELECT campaign, cell, attempt, count(*) AS candidates, CAST(sum(n) AS BIGINT) AS samples
    FROM attempt_medians
    WHERE candidate <> 'automatic'
    GROUP BY campaign, cell, attempt
),
running AS (SELECT DISTINCT campaign, cell FROM _running),
known AS (
    SELECT campaign, cell FROM expected UNION SELECT campaign, cell FROM tried
    UNION SELECT campaign, cell FROM exclusions
)
SELECT
    known.campaign, known.cell, position, expected.cell IS NOT NULL AS expected,
    CASE
        WHEN exclusions.cell IS NOT NULL THEN 'excluded'
        WHEN tried.state IS NOT NULL THEN tried.state
        WHEN running.cell IS NOT NULL THEN 'running'
        WHEN coalesce(failed_attempts, 0) > 0 THEN 'failed'
        ELSE 'missing'
    END AS state,
    coalesce(held_out, false) AS held_out,
    coalesce(attempts, 0) AS attempts, coalesce(failed_attempts, 0) AS failed_attempts,
    -- An imported cell brings its aggregates instead of samples.
    CASE WHEN imported_samples IS NULL THEN coalesce(measured.candidates, 0) ELSE tried.candidates END AS candidates,
    coalesce(imported_samples, measured.samples, 0) AS usable_samples,
    tried.attempt,
    coalesce(expected.identity, tried.identity).workload AS workload,
    coalesce(expected.identity, tried.identity).family AS family,
    coalesce(expected.identity, tried.identity).model AS model,
    coalesce(expected.identity, tried.identity).layers AS layers,
    coalesce(expected.identity, tried.identity).shape.tp AS tp,
    coalesce(expected.identity, tried.identity).shape.cp AS cp,
    coalesce(expected.identity, tried.identity).shape.ep AS ep,
    coalesce(expected.identity, tried.identity).shape.etp AS etp,
    coalesce(expected.identity, tried.identity)."group" AS group_number,
    coalesce(expected.dtype, tried.dtype) AS dtype, exclusions.reason AS exclusion_reason
FROM known
LEFT JOIN expected ON expected.campaign = known.campaign AND expected.cell = known.cell
LEFT JOIN tried ON tried.campaign = known.campaign AND tried.cell = known.cell
LEFT JOIN measured ON measured.campaign = known.campaign AND measured.cell = known.cell
    AND measured.attempt = tried.attempt
LEFT JOIN running ON running.campaign = known.campaign AND running.cell = known.cell
LEFT JOIN exclusions ON exclusions.campaign = known.campaign AND exclusions.cell = known.cell
ORDER BY known.campaign, position NULLS LAST, known.cell;

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
