CREATE VIEW admissions AS
SELECT
    campaign, segment, seq, time,
    type = 'admission.split' AS admitted,
    CAST(data -> '$.signature' AS JSON) AS signature,
    CAST(data ->> '$.formula' AS INTEGER) AS formula,
    CAST(json_array_length(data, '$.parts') AS INTEGER) AS subforwards,
    CAST(data ->> '$.predicted_peak_bytes' AS BIGINT) AS predicted_peak_bytes,
    CAST(data ->> '$.usable_limit_bytes' AS BIGINT) AS usable_limit_bytes,
    data ->> '$.suggestion' AS suggestion
FROM _facts
WHERE type IN ('admission.split', 'admission.refused')
ORDER BY campaign, segment, seq;

COMMENT ON VIEW admissions IS 'Batches that did not fit whole: split, or refused before anything ran';
COMMENT ON COLUMN admissions.campaign IS 'Campaign';
COMMENT ON COLUMN admissions.segment IS 'Segment that records it';
COMMENT ON COLUMN admissions.seq IS 'Line of the segment';
COMMENT ON COLUMN admissions.time IS 'When, UTC';
COMMENT ON COLUMN admissions.admitted IS 'Whether it ran, in parts';
COMMENT ON COLUMN admissions.signature IS 'Model, topology, grad mode and outputs';
COMMENT ON COLUMN admissions.formula IS 'Version of the estimate that decided';
COMMENT ON COLUMN admissions.subforwards IS 'How many parts it was split into; null where it was refused';
COMMENT ON COLUMN admissions.predicted_peak_bytes IS 'Predicted peak; of a refusal the least that any split would reach';
COMMENT ON COLUMN admissions.usable_limit_bytes IS 'What it could have used';
COMMENT ON COLUMN admissions.suggestion IS 'What a refusal suggests';
