CREATE VIEW samples AS
SELECT
    campaign, sample.cell AS cell, segment AS attempt, sample.candidate AS candidate, sample.role AS role,
    sample.round AS round, sample.position AS position, sample.ms AS ms, sample.usable AS usable,
    sample.reason AS reason, sample.ms_ranks AS ms_ranks, sample.compile_events AS compile_events,
    sample.run_delay_pct AS run_delay_pct, sample.loss AS loss, time, seq
FROM _samples;

COMMENT ON VIEW samples IS 'Timed rounds of candidates, usable or not';
COMMENT ON COLUMN samples.campaign IS 'Campaign';
COMMENT ON COLUMN samples.cell IS 'Key of the cell';
COMMENT ON COLUMN samples.attempt IS 'Segment id of the attempt';
COMMENT ON COLUMN samples.candidate IS 'Label of the candidate';
COMMENT ON COLUMN samples.role IS 'warmup or measured';
COMMENT ON COLUMN samples.round IS 'Round, from 0';
COMMENT ON COLUMN samples.position IS 'Order of running within the round';
COMMENT ON COLUMN samples.ms IS 'Forward and backward, maximum over ranks, milliseconds';
COMMENT ON COLUMN samples.usable IS 'Whether it counts: not compiled, not disturbed';
COMMENT ON COLUMN samples.reason IS 'Why it is not usable';
COMMENT ON COLUMN samples.ms_ranks IS 'Milliseconds by rank';
COMMENT ON COLUMN samples.compile_events IS 'Compilations seen on any rank during the sample';
COMMENT ON COLUMN samples.run_delay_pct IS 'Scheduler run delay over wall time by rank, percent';
COMMENT ON COLUMN samples.loss IS 'The loss that the step gave';
COMMENT ON COLUMN samples.time IS 'When it was recorded, UTC';
COMMENT ON COLUMN samples.seq IS 'Line of the attempt''s segment';
