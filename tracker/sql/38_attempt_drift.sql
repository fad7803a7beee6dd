-- Rounds are interleaved, so a drift meets all candidates alike: each round has one level, the median over
-- candidates of the log of a sample over its candidate's geometric mean. Mann (1945) and Kendall: were nothing
-- drifting, every order of the rounds would be as likely; the slope is Theil's and Sen's.
CREATE VIEW attempt_drift AS
WITH levels AS (
    SELECT campaign, cell, attempt, round, median(level) AS level
    FROM (
        SELECT campaign, cell, attempt, round,
            ln(ms) - avg(ln(ms)) OVER (PARTITION BY campaign, cell, attempt, candidate) AS level
        FROM samples
        WHERE role = 'measured' AND usable
    )
    GROUP BY campaign, cell, attempt, round
),
trends AS (
    SELECT
        one.campaign, one.cell, one.attempt,
        sum(sign(two.level - one.level)) AS ordered,
        median((two.level - one.level) / (two.round - one.round)) AS slope,
        max(two.round) - min(one.round) AS span
    FROM levels AS one
    JOIN levels AS two ON two.campaign = one.campaign AND two.cell = one.cell AND two.attempt = one.attempt
        AND two.round > one.round
    GROUP BY one.campaign, one.cell, one.attempt
),
scored AS (
    SELECT trends.*, rounds,
        greatest(abs(ordered) - 1, 0) / sqrt(rounds * (rounds - 1) * (2 * rounds + 5) / 18) AS z
    FROM trends
    JOIN (SELECT campaign, cell, attempt, count(*) AS rounds FROM levels GROUP BY campaign, cell, attempt)
        USING (campaign, cell, attempt)
),
judged AS (
    SELECT scored.*,
        (exp(slope * span) - 1) * 100 AS change_pct,
        -- The normal law's two tails, to 1e-7 (Abramowitz and Stegun 7.1.26); DuckDB has no error function.
        t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
            * exp(-z * z / 2) AS p_value
    FROM (SELECT *, 1 / (1 + 0.3275911 * z / sqrt(2)) AS t FROM scored) AS scored
)
SELECT
    judged.campaign, cell, attempt, judged.rounds,
    ordered / (judged.rounds * (judged.rounds - 1) / 2) AS tau, change_pct, p_value,
    p_value < 0.05 AND abs(change_pct) > coalesce(campaigns.separation_pct, 3.0) AS drifting
FROM judged
LEFT JOIN campaigns ON campaigns.campaign = judged.campaign
ORDER BY judged.campaign, cell, attempt;

COMMENT ON VIEW attempt_drift IS 'Whether the machine grew slower or faster over the rounds of an attempt. Rounds are interleaved in rotating order, so that a drift meets all candidates alike and hardly their comparison';
COMMENT ON COLUMN attempt_drift.campaign IS 'Campaign';
COMMENT ON COLUMN attempt_drift.cell IS 'Key of the cell';
COMMENT ON COLUMN attempt_drift.attempt IS 'Segment id of the attempt';
COMMENT ON COLUMN attempt_drift.rounds IS 'Rounds with usable samples; no row where there is but one';
COMMENT ON COLUMN attempt_drift.tau IS 'Kendall''s tau of rounds and their levels: 1 when every round is slower than all before it';
COMMENT ON COLUMN attempt_drift.change_pct IS 'From the first round to the last by the median slope, percent; positive is slower';
COMMENT ON COLUMN attempt_drift.p_value IS 'Chance of so ordered a series where nothing drifts (Mann-Kendall, two-sided, normal approximation with continuity correction)';
COMMENT ON COLUMN attempt_drift.drifting IS 'Whether that chance is below 5% and the change above what the campaign calls a tie; steady attempts are flagged one in twenty at most';
