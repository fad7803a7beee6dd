-- Which cells are noisy: how far do the samples of a pair spread, and how many pairs are ties?
SELECT campaign, cell, median(spread_pct) AS spread_pct, max(spread_pct) AS worst_spread_pct,
    count(*) FILTER (NOT separated) AS ties, count(*) AS pairs
FROM pairs
GROUP BY campaign, cell
ORDER BY spread_pct DESC, campaign, cell
LIMIT 20;
