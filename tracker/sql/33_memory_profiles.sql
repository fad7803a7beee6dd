-- The same whole numbers as planner.memory.learn_profile: rates and sharing ratios in 2^-20, rounded against
-- the caller. A test holds the two to each other.
CREATE VIEW memory_profiles AS
WITH seen AS (
    SELECT
        CAST(signature AS VARCHAR) AS signature, CAST(packed_tokens AS HUGEINT) AS packed,
        CAST(logical_tokens AS HUGEINT) AS logical, CAST(observed_peak_bytes AS HUGEINT) * 1048576 AS peak,
        CAST(retained_bytes AS HUGEINT) * 1048576 AS retained, observed_pct
    FROM memory_observations
),
shared AS (
    SELECT signature, min(logical * 1048576 // packed) AS sharing FROM seen GROUP BY signature
),
priced AS (
    -- Bytes are spread over tokens rounded down: over more, a rate would be lower than what was seen.
    SELECT
        seen.*, sharing, greatest(packed, (logical * 1048576 + sharing - 1) // sharing) AS tokens,
        greatest(packed, logical * 1048576 // sharing) AS spread
    FROM seen JOIN shared USING (signature)
)
SELECT
    signature ->> '$.model' AS model, signature ->> '$.topology' AS topology,
    CAST(signature ->> '$.grad' AS BOOLEAN) AS grad, signature ->> '$.outputs' AS outputs,
    CAST(max((peak + spread - 1) // spread) AS BIGINT) AS rate,
    CAST(max((retained + spread - 1) // spread) AS BIGINT) AS retained_rate,
    CAST(any_value(sharing) AS BIGINT) AS sharing,
    CAST(max(row(tokens, packed, logical))[1] AS BIGINT) AS largest_tokens,
    CAST(max(row(tokens, packed, logical))[2] AS BIGINT) AS largest_packed,
    CAST(max(row(tokens, packed, logical))[3] AS BIGINT) AS largest_logical,
    count(*) AS observations,
    max(observed_pct) AS worst_observed_pct
FROM priced
GROUP BY signature
ORDER BY model, topology, grad, outputs;

COMMENT ON VIEW memory_profiles IS 'What is learned of memory, one row a signature: rebuilt from the observations whenever the log grows';
COMMENT ON COLUMN memory_profiles.model IS 'Digest or name of the whole model configuration';
COMMENT ON COLUMN memory_profiles.topology IS 'Parallel shape and device class';
COMMENT ON COLUMN memory_profiles.grad IS 'Whether a backward follows';
COMMENT ON COLUMN memory_profiles.outputs IS 'What is handed back';
COMMENT ON COLUMN memory_profiles.rate IS 'Greatest observed peak per priced token, in 2^-20 bytes';
COMMENT ON COLUMN memory_profiles.retained_rate IS 'Greatest retained memory per priced token, in 2^-20 bytes';
COMMENT ON COLUMN memory_profiles.sharing IS 'Least ratio of logical to packed tokens, in 2^-20';
COMMENT ON COLUMN memory_profiles.largest_tokens IS 'Priced tokens of the largest forward seen';
COMMENT ON COLUMN memory_profiles.largest_packed IS 'Its packed tokens';
COMMENT ON COLUMN memory_profiles.largest_logical IS 'Its logical tokens';
COMMENT ON COLUMN memory_profiles.observations IS 'Forwards that it stands on';
COMMENT ON COLUMN memory_profiles.worst_observed_pct IS 'Highest observed peak in percent of its prediction; above 100 a price was too low';
