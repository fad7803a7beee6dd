-- What does one more level cost, with and without Gated-DeltaNet layers?
-- Layouts of one cell that differ by one level and hardly in tokens: what is left of the difference is the level.
WITH measured AS (
    SELECT medians.campaign, medians.cell, medians.candidate, median_ms, packed_tokens, max_depth, uses_gdn, layers
    FROM candidate_medians AS medians
    JOIN candidates ON candidates.campaign = medians.campaign AND candidates.cell = medians.cell
        AND candidates.attempt = medians.attempt AND candidates.candidate = medians.candidate
    JOIN (SELECT campaign, cell, attempt, facts.uses_gdn, facts.layers FROM attempts WHERE counts) AS counting
        ON counting.campaign = medians.campaign AND counting.cell = medians.cell
)
SELECT
    shallow.uses_gdn, count(*) AS pairs,
    median(deep.median_ms - shallow.median_ms) AS level_ms,
    median((deep.median_ms - shallow.median_ms) / shallow.median_ms * 100) AS level_pct
FROM measured AS shallow
JOIN measured AS deep ON deep.campaign = shallow.campaign AND deep.cell = shallow.cell
    AND deep.max_depth = shallow.max_depth + 1
WHERE abs(deep.packed_tokens - shallow.packed_tokens) <= 0.02 * shallow.packed_tokens
GROUP BY shallow.uses_gdn
ORDER BY shallow.uses_gdn;
