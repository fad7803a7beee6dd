-- Which cells are noisy: how far apart are the samples of one candidate, and how many pairs are ties?
SELECT medians.campaign, medians.cell, medians.spread_pct, medians.worst_spread_pct, ties, pairs
FROM (
    SELECT campaign, cell, median(spread_pct) AS spread_pct, max(spread_pct) AS worst_spread_pct
    FROM candidate_medians
    GROUP BY campaign, cell
) AS medians
LEFT JOIN (
    SELECT campaign, cell, count(*) FILTER (NOT separated) AS ties, count(*) AS pairs
    FROM pairs
    GROUP BY campaign, cell
) AS compared USING (campaign, cell)
ORDER BY medians.spread_pct DESC, medians.campaign, medians.cell
LIMIT 20;
