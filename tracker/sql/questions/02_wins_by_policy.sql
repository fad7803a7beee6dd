-- How often does each policy give the fastest layout, by model and shape?
SELECT cells.model, cells.tp, cells.cp, fastest.candidate, count(*) AS cells_won
FROM (
    SELECT campaign, cell, arg_min(candidate, (median_ms, candidate)) AS candidate
    FROM candidate_medians
    GROUP BY campaign, cell
) AS fastest
JOIN cells USING (campaign, cell)
GROUP BY ALL
ORDER BY cells.model, cells.tp, cells.cp, cells_won DESC, fastest.candidate;
