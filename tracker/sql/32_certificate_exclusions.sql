CREATE VIEW certificate_exclusions AS
SELECT campaign, cell, reason, reference, "by"
FROM exclusions
ORDER BY campaign, cell;

COMMENT ON VIEW certificate_exclusions IS 'Exclusions as a certificate lists them';
COMMENT ON COLUMN certificate_exclusions.campaign IS 'Campaign';
COMMENT ON COLUMN certificate_exclusions.cell IS 'Key of the cell';
COMMENT ON COLUMN certificate_exclusions.reason IS 'Why';
COMMENT ON COLUMN certificate_exclusions.reference IS 'Where more is said';
COMMENT ON COLUMN certificate_exclusions.by IS 'Who excluded it';
