-- Which candidates moved between two campaigns by more than both their spreads?
WITH medians AS MATERIALIZED (FROM candidate_medians)
SELECT before.campaign AS before, after.campaign AS after, before.cell, before.candidate,
    before.median_ms AS before_ms, after.median_ms AS after_ms,
    (after.median_ms - before.median_ms) / before.median_ms * 100 AS moved_pct
FROM medians AS before
JOIN medians AS after ON after.cell = before.cell AND after.candidate = before.candidate
    AND after.campaign > before.campaign
WHERE abs(after.median_ms - before.median_ms) / before.median_ms * 100
    > greatest(before.spread_pct, after.spread_pct)
ORDER BY abs(moved_pct) DESC, before, after, before.cell, before.candidate
LIMIT 20;
