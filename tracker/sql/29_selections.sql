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
    CAST(data ->> '$.ms' AS DOUBLE) AS ms,
    coalesce(CAST(data ->> '$.at' AS TIMESTAMP), time) AS seen,
    CAST(data ->> '$.predicted_us' AS DOUBLE) AS predicted_us,
    data ->> '$.selected' AS selected,
    data ->> '$.batch' AS batch,
    CAST(data ->> '$.facts.tp' AS INTEGER) AS tp,
    CAST(data ->> '$.facts.cp' AS INTEGER) AS cp,
    CAST(data ->> '$.facts.ep' AS INTEGER) AS ep,
    CAST(data ->> '$.facts.etp' AS INTEGER) AS etp,
    CAST(data ->> '$.facts.layers' AS INTEGER) AS layers,
    data ->> '$.version_digest' AS version_digest
FROM _facts
WHERE type = 'selection.observed'
ORDER BY campaign, segment, seq;

COMMENT ON VIEW selections IS 'Layouts that trainers ran in production, and the time they saw';
COMMENT ON COLUMN selections.campaign IS 'Campaign';
COMMENT ON COLUMN selections.cell IS 'Key of the cell that the batch is, if any';
COMMENT ON COLUMN selections.segment IS 'Segment that records it';
COMMENT ON COLUMN selections.seq IS 'Line of the segment';
COMMENT ON COLUMN selections.time IS 'When it was recorded, UTC';
COMMENT ON COLUMN selections.model IS 'Registered model that chose';
COMMENT ON COLUMN selections.version IS 'Coefficient version';
COMMENT ON COLUMN selections.table_id IS 'Table that scored; hand-set where none did';
COMMENT ON COLUMN selections.candidate IS 'Label of the layout that ran';
COMMENT ON COLUMN selections.decisions IS 'Shared decisions';
COMMENT ON COLUMN selections.packed_tokens IS 'Tokens that the layout computed';
COMMENT ON COLUMN selections.segment_count IS 'Physical segments';
COMMENT ON COLUMN selections.max_depth IS 'Levels';
COMMENT ON COLUMN selections.ms IS 'Time of the step, milliseconds';
COMMENT ON COLUMN selections.seen IS 'When the trainer saw it, UTC';
COMMENT ON COLUMN selections.predicted_us IS 'What the version predicts of the layout, microseconds; its terms may leave out a common part';
COMMENT ON COLUMN selections.selected IS 'Label of the selected layout, where another was run on purpose';
COMMENT ON COLUMN selections.batch IS 'sha256 of the batch''s prefix tree: batches with the same have the same layouts';
COMMENT ON COLUMN selections.tp IS 'Tensor parallel size';
COMMENT ON COLUMN selections.cp IS 'Context parallel size';
COMMENT ON COLUMN selections.ep IS 'Expert parallel size';
COMMENT ON COLUMN selections.etp IS 'Expert tensor parallel size';
COMMENT ON COLUMN selections.layers IS 'Layers';
COMMENT ON COLUMN selections.version_digest IS 'sha256 of the version''s bundle';
