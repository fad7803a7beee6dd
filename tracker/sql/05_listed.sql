-- Internal: listed_candidates of every segment, computed when a part was made or the segment came.
CREATE OR REPLACE VIEW _listed AS
SELECT *
FROM (
    FROM read_parquet(list_transform({{listed}}, lambda file: coalesce(getvariable('ledger') || '/', '') || file))
    UNION ALL FROM _loose_listed
)
WHERE getvariable('segments') IS NULL OR list_contains(getvariable('segments'), attempt);
