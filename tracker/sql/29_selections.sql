CREATE VIEW selections AS
SELECT
    campaign, cell, segment, seq, time,
    data ->> '$.model' AS model,
    CAST(data ->> '$.version' AS INTEGER) AS version,
    data ->> '$.table_id' AS table_id,
    data ->> '$.candidate' AS candidate,
    CAST(data -> '$.decisions' AS BIGINT[]) AS decisions,
    CAST(data ->> '$.packed_tokens' AS BIGINT) AS packed_tokens,
    CAST(data ->> '$.segment_count' AS BIGINT) AS segment_count,
    CAST(data ->> '$.max_depth' AS BIGINT) AS max_depth,
    CAST(data ->> '$.ms' AS DOUBLE) AS ms
FROM _facts
WHERE type = 'selection.observed'
ORDER BY campaign, segment, seq;

COMMENT ON VIEW selections IS 'Layouts that trainers chose in production, and the time they saw';
COMMENT ON COLUMN selections.campaign IS 'Campaign';
COMMENT ON COLUMN selections.cell IS 'Key of the cell';
COMMENT ON COLUMN selections.segment IS 'Segment that records it';
COMMENT ON COLUMN selections.seq IS 'Line of the segment';
COMMENT ON COLUMN selections.time IS 'When, UTC';
COMMENT ON COLUMN selections.model IS 'Registered model that chose';
COMMENT ON COLUMN selections.version IS 'Coefficient version';
COMMENT ON COLUMN selections.table_id IS 'Table that scored; null for the hand-set score';
COMMENT ON COLUMN selections.candidate IS 'Label of the layout';
COMMENT ON COLUMN selections.decisions IS 'Shared decisions';
COMMENT ON COLUMN selections.packed_tokens IS 'Tokens that the layout computed';
COMMENT ON COLUMN selections.segment_count IS 'Physical segments';
COMMENT ON COLUMN selections.max_depth IS 'Levels';
COMMENT ON COLUMN selections.ms IS 'Time of the step, milliseconds';
