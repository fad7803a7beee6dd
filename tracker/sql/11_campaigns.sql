CREATE VIEW campaigns AS
SELECT
    campaign,
    data ->> '$.manifest.title' AS title,
    data ->> '$.manifest.table_id' AS table_id,
    data ->> '$.manifest_digest' AS manifest_digest,
    segment,
    time AS opened,
    len(expected) AS expected_cells,
    len(list_filter(expected, lambda item: item.held_out)) AS held_out_cells,
    CAST(data ->> '$.manifest.protocol.rounds' AS INTEGER) AS rounds,
    CAST(data ->> '$.manifest.protocol.required' AS INTEGER) AS required_samples,
    CAST(data ->> '$.manifest.gates.separation_pct' AS DOUBLE) AS separation_pct,
    data ->> '$.manifest.fit.method' AS fit_method,
    CAST(data -> '$.manifest' AS JSON) AS manifest,
    expected
FROM _facts
WHERE type = 'campaign.opened'
-- Registered once: what came first holds, whatever is said later.
QUALIFY row_number() OVER (PARTITION BY campaign ORDER BY segment, seq) = 1
ORDER BY campaign;

COMMENT ON VIEW campaigns IS 'Campaigns and what was registered with them before the first sample';
COMMENT ON COLUMN campaigns.campaign IS 'Name';
COMMENT ON COLUMN campaigns.title IS 'What it is for';
COMMENT ON COLUMN campaigns.table_id IS 'Id of the coefficient table that it calibrates';
COMMENT ON COLUMN campaigns.manifest_digest IS 'sha256 of the canonical manifest';
COMMENT ON COLUMN campaigns.segment IS 'Segment that registered it';
COMMENT ON COLUMN campaigns.opened IS 'When it was registered, UTC';
COMMENT ON COLUMN campaigns.expected_cells IS 'Cells in the manifest';
COMMENT ON COLUMN campaigns.held_out_cells IS 'Cells that the holdout rule keeps from the fit';
COMMENT ON COLUMN campaigns.rounds IS 'Measured rounds an attempt';
COMMENT ON COLUMN campaigns.required_samples IS 'Usable samples that each candidate must reach';
COMMENT ON COLUMN campaigns.separation_pct IS 'Candidates closer than this are a tie, percent';
COMMENT ON COLUMN campaigns.fit_method IS 'Registered fit method';
COMMENT ON COLUMN campaigns.manifest IS 'The whole manifest';
COMMENT ON COLUMN campaigns.expected IS 'Expected cells in manifest order';
