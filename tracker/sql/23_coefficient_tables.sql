CREATE VIEW coefficient_tables AS
SELECT campaign, fit, table_id, table_digest, passed, term.key AS term, CAST(term.value AS HUGEINT) AS milli_us
FROM (
    SELECT *, unnest(map_entries(CAST(result -> '$.table' AS MAP(VARCHAR, VARCHAR)))) AS term FROM fits
)
ORDER BY campaign, fit, term;

COMMENT ON VIEW coefficient_tables IS 'Integer coefficients of every fit, one row a term';
COMMENT ON COLUMN coefficient_tables.campaign IS 'Campaign';
COMMENT ON COLUMN coefficient_tables.fit IS 'Segment id of the fit';
COMMENT ON COLUMN coefficient_tables.table_id IS 'Id of the table';
COMMENT ON COLUMN coefficient_tables.table_digest IS 'sha256 of the table';
COMMENT ON COLUMN coefficient_tables.passed IS 'Whether the fit passed its gates';
COMMENT ON COLUMN coefficient_tables.term IS 'Term of the cost model';
COMMENT ON COLUMN coefficient_tables.milli_us IS 'Coefficient, milli-microseconds per unit of the term';
