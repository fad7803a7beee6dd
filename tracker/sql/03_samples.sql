-- Internal: every verified sample line, from the Parquet files.
-- Paths start at the ledger's folder; the variable `ledger` names it for a reader that works elsewhere.
-- The variable `segments` narrows every view to the segments listed in it.
CREATE OR REPLACE VIEW _samples AS
SELECT *
FROM read_parquet(list_transform({{samples}}, lambda file: coalesce(getvariable('ledger') || '/', '') || file))
WHERE type = 'sample.recorded'
  AND (getvariable('segments') IS NULL OR list_contains(getvariable('segments'), segment));
