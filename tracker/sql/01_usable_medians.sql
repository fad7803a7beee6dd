-- The one rule of what a candidate measured in an attempt: the median of its usable measured samples.
-- For an even count quantile_disc gives the lower middle, and minus that of the negated values the upper one;
-- their mean is the exact median, as statistics.median has it, without interpolation.
CREATE OR REPLACE MACRO usable_medians(lines) AS TABLE
SELECT
    campaign,
    sample.cell AS cell,
    segment AS attempt,
    sample.candidate AS candidate,
    (quantile_disc(sample.ms, 0.5) - quantile_disc(-sample.ms, 0.5)) / 2 AS median_ms,
    count(*) AS n,
    (max(sample.ms) - min(sample.ms))
        / ((quantile_disc(sample.ms, 0.5) - quantile_disc(-sample.ms, 0.5)) / 2) * 100 AS spread_pct,
    min(sample.ms) AS min_ms,
    max(sample.ms) AS max_ms
FROM query_table(lines)
WHERE type = 'sample.recorded' AND sample.role = 'measured' AND sample.usable
GROUP BY campaign, sample.cell, segment, sample.candidate;
