CREATE VIEW automatic_medians AS
WITH chosen AS (
    SELECT
        described.campaign, described.cell, described.segment AS attempt, described.automatic.labels AS labels,
        CAST(described.data ->> '$.automatic_version' AS INTEGER) AS version
    FROM _facts AS described
    JOIN attempts ON attempts.campaign = described.campaign AND attempts.cell = described.cell
        AND attempts.attempt = described.segment AND attempts.counts AND attempts.state = 'completed'
    WHERE described.type = 'cell.described'
),
best AS (
    SELECT campaign, cell, arg_min(candidate, (median_ms, candidate)) AS candidate, min(median_ms) AS median_ms
    FROM candidate_medians
    GROUP BY campaign, cell
),
-- Timed under its own name where it is no mandatory candidate; else that candidate's samples are its own.
timed AS (
    SELECT chosen.*, measured.candidate AS timed_as, measured.median_ms, n, spread_pct, min_ms, max_ms
    FROM chosen
    JOIN attempt_medians AS measured ON measured.campaign = chosen.campaign AND measured.cell = chosen.cell
        AND measured.attempt = chosen.attempt
        AND (measured.candidate = 'automatic' OR list_contains(chosen.labels, measured.candidate))
    QUALIFY row_number() OVER (
        PARTITION BY chosen.campaign, chosen.cell ORDER BY measured.candidate <> 'automatic'
    ) = 1
)
SELECT
    timed.campaign, timed.cell, timed.attempt, 'automatic' AS candidate, 'measured' AS source,
    timed.median_ms, n, spread_pct, min_ms, max_ms,
    nullif(timed_as, 'automatic') AS matches, version, best.candidate AS best,
    (timed.median_ms - best.median_ms) / best.median_ms * 100 AS regret_pct
FROM timed
LEFT JOIN best ON best.campaign = timed.campaign AND best.cell = timed.cell
ORDER BY timed.campaign, timed.cell;

COMMENT ON VIEW automatic_medians IS 'What the planner''s own choice measured beside the candidates, in the attempt that counts: its prospective regret';
COMMENT ON COLUMN automatic_medians.campaign IS 'Campaign';
COMMENT ON COLUMN automatic_medians.cell IS 'Key of the cell';
COMMENT ON COLUMN automatic_medians.attempt IS 'Segment id of the attempt that counts';
COMMENT ON COLUMN automatic_medians.candidate IS 'automatic';
COMMENT ON COLUMN automatic_medians.source IS 'measured';
COMMENT ON COLUMN automatic_medians.median_ms IS 'Exact median of the usable measured samples, milliseconds';
COMMENT ON COLUMN automatic_medians.n IS 'How many';
COMMENT ON COLUMN automatic_medians.spread_pct IS '(max - min) / median, percent';
COMMENT ON COLUMN automatic_medians.min_ms IS 'Least, milliseconds';
COMMENT ON COLUMN automatic_medians.max_ms IS 'Greatest, milliseconds';
COMMENT ON COLUMN automatic_medians.matches IS 'Mandatory candidate that it is, whose samples are then its own; null where it is another layout, timed by itself';
COMMENT ON COLUMN automatic_medians.version IS 'Coefficient version that chose it';
COMMENT ON COLUMN automatic_medians.best IS 'Mandatory candidate with the least median in the cell';
COMMENT ON COLUMN automatic_medians.regret_pct IS 'Its median above that one''s, percent; below zero where the choice was faster than every candidate';
