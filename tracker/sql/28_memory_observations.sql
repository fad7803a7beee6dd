CREATE VIEW memory_observations AS
SELECT
    campaign, cell, segment, seq, time,
    CAST(data -> '$.signature' AS JSON) AS signature,
    CAST(data ->> '$.packed_tokens' AS BIGINT) AS packed_tokens,
    CAST(data ->> '$.logical_tokens' AS BIGINT) AS logical_tokens,
    CAST(data ->> '$.outputs' AS BIGINT) AS outputs,
    CAST(data ->> '$.priced_tokens' AS BIGINT) AS priced_tokens,
    CAST(data ->> '$.formula' AS INTEGER) AS formula,
    CAST(data ->> '$.predicted_peak_bytes' AS BIGINT) AS predicted_peak_bytes,
    CAST(data ->> '$.observed_peak_bytes' AS BIGINT) AS observed_peak_bytes,
    100.0 * CAST(data ->> '$.observed_peak_bytes' AS BIGINT)
        / nullif(CAST(data ->> '$.predicted_peak_bytes' AS BIGINT), 0) AS observed_pct,
    CAST(data ->> '$.retained_bytes' AS BIGINT) AS retained_bytes,
    data ->> '$.trace' AS trace
FROM _facts
WHERE type = 'memory.observed'
ORDER BY campaign, segment, seq;

COMMENT ON VIEW memory_observations IS 'Peaks of memory that forwards were seen to reach, beside what was predicted';
COMMENT ON COLUMN memory_observations.campaign IS 'Campaign';
COMMENT ON COLUMN memory_observations.cell IS 'Key of the cell';
COMMENT ON COLUMN memory_observations.segment IS 'Segment that records it';
COMMENT ON COLUMN memory_observations.seq IS 'Line of the segment';
COMMENT ON COLUMN memory_observations.time IS 'When, UTC';
COMMENT ON COLUMN memory_observations.signature IS 'Model, topology, grad mode and outputs that the observation holds for';
COMMENT ON COLUMN memory_observations.packed_tokens IS 'Tokens that the layout computed';
COMMENT ON COLUMN memory_observations.logical_tokens IS 'Tokens of all rows together';
COMMENT ON COLUMN memory_observations.outputs IS 'Predictions that were handed back';
COMMENT ON COLUMN memory_observations.priced_tokens IS 'Tokens that the price was made for';
COMMENT ON COLUMN memory_observations.formula IS 'Version of the estimate that predicted';
COMMENT ON COLUMN memory_observations.predicted_peak_bytes IS 'Predicted peak';
COMMENT ON COLUMN memory_observations.observed_peak_bytes IS 'Observed peak';
COMMENT ON COLUMN memory_observations.observed_pct IS 'Observed peak in percent of the predicted one; above 100 is a price too low';
COMMENT ON COLUMN memory_observations.retained_bytes IS 'Bytes still held after the forward';
COMMENT ON COLUMN memory_observations.trace IS 'Digest of the allocator trace that shows it, if one was kept';
