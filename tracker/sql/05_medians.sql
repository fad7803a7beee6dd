-- Internal: usable_medians of the compacted parts, computed when a part was made.
CREATE OR REPLACE VIEW _medians AS
SELECT *
FROM read_parquet(list_transform({{medians}}, lambda file: coalesce(getvariable('ledger') || '/', '') || file))
WHERE getvariable('segments') IS NULL OR list_contains(getvariable('segments'), attempt);
