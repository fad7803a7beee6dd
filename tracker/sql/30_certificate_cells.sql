CREATE VIEW certificate_cells AS
SELECT
    attempts.campaign, attempts.cell, attempts.attempt, attempts.identity, attempts.facts, attempts.fingerprint,
    coalesce(registered.expected.held_out, false) AS held_out
FROM attempts
LEFT JOIN (SELECT campaign, unnest(expected, recursive := false) AS expected FROM campaigns) AS registered
    ON registered.campaign = attempts.campaign AND registered.expected.cell = attempts.cell
LEFT JOIN exclusions ON exclusions.campaign = attempts.campaign AND exclusions.cell = attempts.cell
WHERE attempts.counts AND exclusions.cell IS NULL
ORDER BY attempts.campaign, attempts.cell;

COMMENT ON VIEW certificate_cells IS 'The cells that a certificate retains: an attempt counts, and no exclusion takes the cell out';
COMMENT ON COLUMN certificate_cells.campaign IS 'Campaign';
COMMENT ON COLUMN certificate_cells.cell IS 'Key of the cell';
COMMENT ON COLUMN certificate_cells.attempt IS 'Segment id of the attempt that counts';
COMMENT ON COLUMN certificate_cells.identity IS 'Workload, family, model, layers, shape, group';
COMMENT ON COLUMN certificate_cells.facts IS 'What the cost terms read of the cell beside the layout';
COMMENT ON COLUMN certificate_cells.fingerprint IS 'Execution fingerprint';
COMMENT ON COLUMN certificate_cells.held_out IS 'Whether the registered rule holds it out';
