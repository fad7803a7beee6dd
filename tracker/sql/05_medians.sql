-- Internal: usable_medians of every segment, computed when a part was made or the segment came.
CREATE OR REPLACE VIEW _medians AS
SELECT *
FROM (
    FROM read_parquet(list_transform({{medians}}, lambda file: coalesce(getvariable('ledger') || '/', '') || file))
    UNION ALL FROM _loose_medians
)
WHERE getvariable('segments') IS NULL OR list_contains(getvariable('segments'), attempt);
