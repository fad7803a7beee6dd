-- Internal: attempt_outcomes of every segment, computed when a part was made or the segment came.
CREATE OR REPLACE VIEW _outcomes AS
SELECT *
FROM (
    FROM read_parquet(list_transform({{outcomes}}, lambda file: coalesce(getvariable('ledger') || '/', '') || file))
    UNION ALL FROM _loose_outcomes
)
WHERE getvariable('segments') IS NULL OR list_contains(getvariable('segments'), attempt);
