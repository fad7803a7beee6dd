-- The rule of harness._stall, as a view: a test holds the two to each other.
CREATE VIEW stalls AS
WITH far AS (
    -- The cheap half of the rule first: few samples pass it, and only their candidates need the other half.
    SELECT samples.*, median_ms
    FROM samples
    JOIN attempt_medians USING (campaign, cell, attempt, candidate)
    WHERE role = 'measured' AND ms > 1.5 * median_ms
),
scatter AS (
    SELECT campaign, cell, attempt, candidate, median_ms,
        -- As in usable_medians: the exact median, the mean of the two middle ones for an even count.
        (quantile_disc(abs(ms - median_ms), 0.5) - quantile_disc(-abs(ms - median_ms), 0.5)) / 2 AS mad_ms,
        count(*) AS n, list(ms) AS times
    FROM samples
    JOIN (SELECT DISTINCT campaign, cell, attempt, candidate, median_ms FROM far)
        USING (campaign, cell, attempt, candidate)
    WHERE role = 'measured' AND usable
    GROUP BY campaign, cell, attempt, candidate, median_ms
)
SELECT
    campaign, cell, attempt, candidate, far.round, far.position, far.ms, far.median_ms,
    far.ms / far.median_ms AS medians, mad_ms, far.usable, far.reason, far.time, far.seq
FROM far
JOIN scatter USING (campaign, cell, attempt, candidate)
WHERE far.ms - far.median_ms > 5 * mad_ms
    -- More than one in five is no stall, but how that candidate scatters.
    AND len(list_filter(times, lambda one: one > 1.5 * scatter.median_ms AND one - scatter.median_ms > 5 * mad_ms))
        <= greatest(1, n // 5)
ORDER BY campaign, cell, attempt, far.seq;

COMMENT ON VIEW stalls IS 'Measured samples so far above their candidate''s median that something else must have happened: above 1.5 medians and over 5 median absolute deviations from it, where no more than one in five is. They stay usable: a median hardly sees them, and to take samples out for their times would be to choose the result';
COMMENT ON COLUMN stalls.campaign IS 'Campaign';
COMMENT ON COLUMN stalls.cell IS 'Key of the cell';
COMMENT ON COLUMN stalls.attempt IS 'Segment id of the attempt';
COMMENT ON COLUMN stalls.candidate IS 'Label of the candidate that was timed';
COMMENT ON COLUMN stalls.round IS 'Round, from 0';
COMMENT ON COLUMN stalls.position IS 'Order of running within the round';
COMMENT ON COLUMN stalls.ms IS 'Time of the sample, milliseconds';
COMMENT ON COLUMN stalls.median_ms IS 'Median of the candidate''s usable measured samples in that attempt, milliseconds';
COMMENT ON COLUMN stalls.medians IS 'The sample over that median';
COMMENT ON COLUMN stalls.mad_ms IS 'Median absolute deviation of those samples from it, milliseconds';
COMMENT ON COLUMN stalls.usable IS 'Whether the sample counts all the same; false where it was also disturbed or compiled';
COMMENT ON COLUMN stalls.reason IS 'Why it is not usable';
COMMENT ON COLUMN stalls.time IS 'When it was recorded, UTC';
COMMENT ON COLUMN stalls.seq IS 'Line of the attempt''s segment';
