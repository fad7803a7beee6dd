-- Which candidate wins where, and by how much over the next?
SELECT campaign, cell, candidate AS winner, median_ms,
    (runner_up_ms - median_ms) / median_ms * 100 AS lead_pct
FROM (
    SELECT *,
        lead(median_ms) OVER fastest AS runner_up_ms,
        row_number() OVER fastest AS place
    FROM candidate_medians
    WINDOW fastest AS (PARTITION BY campaign, cell ORDER BY median_ms, candidate)
)
WHERE place = 1
ORDER BY campaign, cell;
