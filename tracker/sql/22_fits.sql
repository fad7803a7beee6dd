CREATE VIEW fits AS
SELECT
    campaign, segment AS fit, time, data ->> '$.table_id' AS table_id, data ->> '$.table_digest' AS table_digest,
    data ->> '$.manifest_digest' AS manifest_digest, data ->> '$.arguments.method' AS method,
    CAST(data -> '$.arguments.terms' AS VARCHAR[]) AS terms,
    CAST(data ->> '$.passed' AS BOOLEAN) AS passed,
    json_array_length(data, '$.training_cells') AS training_cells,
    json_array_length(data, '$.holdout_cells') AS holdout_cells,
    json_array_length(data, '$.excluded_cells') AS excluded_cells,
    CAST(data ->> '$.metrics.holdout.pairwise_accuracy' AS DOUBLE) AS pairwise_accuracy,
    CAST(data ->> '$.metrics.holdout.median_regret_pct' AS DOUBLE) AS median_regret_pct,
    CAST(data ->> '$.metrics.holdout.p95_regret_pct' AS DOUBLE) AS p95_regret_pct,
    CAST(data ->> '$.metrics.holdout.max_regret_pct' AS DOUBLE) AS max_regret_pct,
    CAST(data ->> '$.metrics.all.pairwise_accuracy' AS DOUBLE) AS all_pairwise_accuracy,
    CAST(data ->> '$.metrics.all.median_regret_pct' AS DOUBLE) AS all_median_regret_pct,
    CAST(data ->> '$.metrics.all.p95_regret_pct' AS DOUBLE) AS all_p95_regret_pct,
    CAST(data ->> '$.metrics.all.max_regret_pct' AS DOUBLE) AS all_max_regret_pct,
    CAST(data ->> '$.hand_set.pairwise_accuracy' AS DOUBLE) AS hand_set_pairwise_accuracy,
    CAST(data ->> '$.hand_set.median_regret_pct' AS DOUBLE) AS hand_set_median_regret_pct,
    CAST(data ->> '$.hand_set.p95_regret_pct' AS DOUBLE) AS hand_set_p95_regret_pct,
    CAST(data ->> '$.hand_set.max_regret_pct' AS DOUBLE) AS hand_set_max_regret_pct,
    data ->> '$.evidence.root' AS evidence_root,
    CAST(data -> '$.gates' AS JSON) AS gates, CAST(data AS JSON) AS result
FROM _facts
WHERE type = 'fit.completed'
ORDER BY campaign, segment;

COMMENT ON VIEW fits IS 'Fits and their verdicts';
COMMENT ON COLUMN fits.campaign IS 'Campaign';
COMMENT ON COLUMN fits.fit IS 'Segment id of the fit';
COMMENT ON COLUMN fits.time IS 'When it was recorded, UTC';
COMMENT ON COLUMN fits.table_id IS 'Id of the coefficient table';
COMMENT ON COLUMN fits.table_digest IS 'sha256 of the integer table';
COMMENT ON COLUMN fits.manifest_digest IS 'sha256 of the manifest it stands on';
COMMENT ON COLUMN fits.method IS 'Fit method';
COMMENT ON COLUMN fits.terms IS 'Terms that it used';
COMMENT ON COLUMN fits.passed IS 'Whether every gate passed';
COMMENT ON COLUMN fits.training_cells IS 'Cells fitted on';
COMMENT ON COLUMN fits.holdout_cells IS 'Cells held out';
COMMENT ON COLUMN fits.excluded_cells IS 'Cells left out';
COMMENT ON COLUMN fits.pairwise_accuracy IS 'Share of separated pairs ordered right, held-out cells';
COMMENT ON COLUMN fits.median_regret_pct IS 'Median regret, percent, held-out cells';
COMMENT ON COLUMN fits.p95_regret_pct IS '95th percentile of the regret, percent, held-out cells';
COMMENT ON COLUMN fits.max_regret_pct IS 'Largest regret, percent, held-out cells';
COMMENT ON COLUMN fits.all_pairwise_accuracy IS 'Share of separated pairs ordered right, all cells';
COMMENT ON COLUMN fits.all_median_regret_pct IS 'Median regret, percent, all cells';
COMMENT ON COLUMN fits.all_p95_regret_pct IS '95th percentile of the regret, percent, all cells';
COMMENT ON COLUMN fits.all_max_regret_pct IS 'Largest regret, percent, all cells';
COMMENT ON COLUMN fits.hand_set_pairwise_accuracy IS 'Share of separated pairs ordered right, the version-1 score on all cells';
COMMENT ON COLUMN fits.hand_set_median_regret_pct IS 'Median regret, percent, the version-1 score on all cells';
COMMENT ON COLUMN fits.hand_set_p95_regret_pct IS '95th percentile of the regret, percent, the version-1 score on all cells';
COMMENT ON COLUMN fits.hand_set_max_regret_pct IS 'Largest regret, percent, the version-1 score on all cells';
COMMENT ON COLUMN fits.evidence_root IS 'Merkle root of the segments that it stood on';
COMMENT ON COLUMN fits.gates IS 'Each gate''s verdict';
COMMENT ON COLUMN fits.result IS 'The whole record';
