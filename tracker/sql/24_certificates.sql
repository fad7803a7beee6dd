CREATE VIEW certificates AS
SELECT
    campaign, segment, type = 'certificate.issued' AS issued, data ->> '$.digest' AS certificate,
    data ->> '$.fit' AS fit, data ->> '$.table_id' AS table_id, data ->> '$.table_digest' AS table_digest,
    data ->> '$.evidence_root' AS evidence_root, CAST(data -> '$.reasons' AS VARCHAR[]) AS reasons, time
FROM _facts
WHERE type IN ('certificate.issued', 'certificate.refused')
ORDER BY campaign, segment, seq;

COMMENT ON VIEW certificates IS 'Certificates that were issued, and those refused';
COMMENT ON COLUMN certificates.campaign IS 'Campaign';
COMMENT ON COLUMN certificates.segment IS 'Segment that records it';
COMMENT ON COLUMN certificates.issued IS 'Whether it was issued; else refused';
COMMENT ON COLUMN certificates.certificate IS 'sha256 of the certificate''s statement';
COMMENT ON COLUMN certificates.fit IS 'Segment id of the fit';
COMMENT ON COLUMN certificates.table_id IS 'Id of the table';
COMMENT ON COLUMN certificates.table_digest IS 'sha256 of the table';
COMMENT ON COLUMN certificates.evidence_root IS 'Merkle root of the evidence';
COMMENT ON COLUMN certificates.reasons IS 'Why it was refused';
COMMENT ON COLUMN certificates.time IS 'When, UTC';
