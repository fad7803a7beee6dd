CREATE VIEW versions AS
SELECT
    model, version, bundle_digest,
    entry ->> '$.table_id' AS table_id, entry ->> '$.table_digest' AS table_digest,
    entry ->> '$.certificate' AS certificate, CAST(entry -> '$.domain' AS JSON) AS domain, time, campaign, segment
FROM (
    SELECT
        campaign, segment, time, data ->> '$.model' AS model, CAST(data ->> '$.version' AS INTEGER) AS version,
        data ->> '$.bundle_digest' AS bundle_digest,
        unnest(
            CASE WHEN json_array_length(data, '$.tables') > 0
                THEN CAST(data -> '$.tables' AS JSON[]) ELSE [NULL] END
        ) AS entry
    FROM _facts
    WHERE type = 'version.registered'
)
ORDER BY model, version, table_id, segment;

COMMENT ON VIEW versions IS 'Registered coefficient versions, one row a table; version 1 is hand-set and has none';
COMMENT ON COLUMN versions.model IS 'Registered model';
COMMENT ON COLUMN versions.version IS 'Coefficient version';
COMMENT ON COLUMN versions.bundle_digest IS 'sha256 of the bundle';
COMMENT ON COLUMN versions.table_id IS 'Id of a table in it';
COMMENT ON COLUMN versions.table_digest IS 'sha256 of that table';
COMMENT ON COLUMN versions.certificate IS 'Digest of the certificate that the table stands on';
COMMENT ON COLUMN versions.domain IS 'Device classes, dtypes, geometries and shapes that the table was measured on';
COMMENT ON COLUMN versions.time IS 'When it was registered, UTC';
COMMENT ON COLUMN versions.campaign IS 'Campaign whose log records it';
COMMENT ON COLUMN versions.segment IS 'Segment that records it';
