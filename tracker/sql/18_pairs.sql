CREATE VIEW pairs AS
WITH medians AS MATERIALIZED (FROM candidate_medians)
SELECT
    one.campaign, one.cell, one.candidate AS candidate_a, two.candidate AS candidate_b,
    one.median_ms AS median_a_ms, two.median_ms AS median_b_ms,
    CASE WHEN one.median_ms < two.median_ms THEN one.candidate
        WHEN two.median_ms < one.median_ms THEN two.candidate END AS faster,
    abs(one.median_ms - two.median_ms) / least(one.median_ms, two.median_ms) * 100 AS separation_pct,
    greatest(one.spread_pct, two.spread_pct) AS spread_pct,
    abs(one.median_ms - two.median_ms) / least(one.median_ms, two.median_ms) * 100
        > coalesce(campaigns.separation_pct, 3.0) AS separated
FROM medians AS one
JOIN medians AS two
    ON two.campaign = one.campaign AND two.cell = one.cell AND two.candidate > one.candidate
LEFT JOIN campaigns ON campaigns.campaign = one.campaign
ORDER BY one.campaign, one.cell, candidate_a, candidate_b;

COMMENT ON VIEW pairs IS 'Within-cell pairs of candidates, each pair once';
COMMENT ON COLUMN pairs.campaign IS 'Campaign';
COMMENT ON COLUMN pairs.cell IS 'Key of the cell';
COMMENT ON COLUMN pairs.candidate_a IS 'The first label in order';
COMMENT ON COLUMN pairs.candidate_b IS 'The second';
COMMENT ON COLUMN pairs.median_a_ms IS 'Median of the first, milliseconds';
COMMENT ON COLUMN pairs.median_b_ms IS 'Median of the second, milliseconds';
COMMENT ON COLUMN pairs.faster IS 'Label of the faster one; null when they are equal';
COMMENT ON COLUMN pairs.separation_pct IS 'Difference over the faster one''s median, percent';
COMMENT ON COLUMN pairs.spread_pct IS 'The larger of the two spreads, percent';
COMMENT ON COLUMN pairs.separated IS 'Whether the separation is above the campaign''s registered limit; else it is a tie';
