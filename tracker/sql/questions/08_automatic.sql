-- How much slower than the best candidate was the layout that the planner itself chose?
SELECT campaign, cell, version, coalesce(matches, 'a layout of its own') AS chosen, best, regret_pct
FROM automatic_medians
ORDER BY regret_pct DESC, campaign, cell
LIMIT 20;
