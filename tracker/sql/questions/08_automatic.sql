-- How much slower than the best candidate was the layout that the planner itself chose?
SELECT automatic.campaign, automatic.cell, chosen.labels[1] AS chosen, best.candidate AS best,
    (automatic.median_ms - best.median_ms) / best.median_ms * 100 AS regret_pct
FROM automatic_medians AS automatic
JOIN (
    SELECT campaign, cell, arg_min(candidate, (median_ms, candidate)) AS candidate, min(median_ms) AS median_ms
    FROM candidate_medians
    GROUP BY campaign, cell
) AS best ON best.campaign = automatic.campaign AND best.cell = automatic.cell
JOIN candidates AS chosen ON chosen.campaign = automatic.campaign AND chosen.cell = automatic.cell
    AND chosen.attempt = automatic.attempt AND chosen.automatic
ORDER BY regret_pct DESC, automatic.campaign, automatic.cell
LIMIT 20;
