-- Internal: the sample lines of segments that are in no compacted part, from the Parquet files.
-- Paths start at the ledger's folder; the variable `ledger` names it for a reader that works elsewhere.
-- The variable `segments` narrows every view to the segments listed in it.
CREATE OR REPLACE VIEW _loose_samples AS
SELECT *
FROM read_parquet(list_transform({{loose}}, lambda file: coalesce(getvariable('ledger') || '/', '') || file))
WHERE type = 'sample.recorded'
  AND (getvariable('segments') IS NULL OR list_contains(getvariable('segments'), segment));
