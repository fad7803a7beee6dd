-- What is still missing before a campaign can be fitted?
SELECT campaign, state, count(*) AS cells, list(cell ORDER BY cell)[:5] AS first_cells
FROM cells
WHERE expected AND state NOT IN ('completed', 'imported', 'excluded')
GROUP BY campaign, state
ORDER BY campaign, state;
