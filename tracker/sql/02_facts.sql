-- Internal: every verified line that is no sample, from the Parquet files of parts and the table of the others.
-- Paths start at the ledger's folder; the variable `ledger` names it for a reader that works elsewhere.
-- The variable `segments` narrows every view to the segments listed in it.
CREATE OR REPLACE VIEW _facts AS
SELECT *
FROM (
    FROM read_parquet(list_transform({{facts}}, lambda file: coalesce(getvariable('ledger') || '/', '') || file))
    UNION ALL FROM _loose_facts
)
WHERE getvariable('segments') IS NULL OR list_contains(getvariable('segments'), segment);
