CREATE VIEW events AS
SELECT
    campaign, segment, unit, seq, id, type, version, time, cell, CAST(subject AS JSON) AS subject,
    CAST(coalesce(data, to_json(sample)) AS JSON) AS data, host, pid, tool, lower(hex(digest)) AS digest
FROM (FROM _facts UNION ALL FROM _samples);

COMMENT ON VIEW events IS 'Every verified line of every sealed segment';
COMMENT ON COLUMN events.campaign IS 'Campaign that the segment belongs to';
COMMENT ON COLUMN events.segment IS 'Segment id (ULID); ids sort by time of opening';
COMMENT ON COLUMN events.unit IS 'What the segment is about: campaign, attempt, exclusion, fit, certificate, ...';
COMMENT ON COLUMN events.seq IS 'Line of the segment, from 0';
COMMENT ON COLUMN events.id IS 'Event id (ULID)';
COMMENT ON COLUMN events.type IS 'Event type, such as sample.recorded';
COMMENT ON COLUMN events.version IS 'Schema version of the type, after lifting to the current one';
COMMENT ON COLUMN events.time IS 'When it was recorded, UTC';
COMMENT ON COLUMN events.cell IS 'Key of the cell that it is about, if any';
COMMENT ON COLUMN events.subject IS 'What the event is about, as recorded';
COMMENT ON COLUMN events.data IS 'The payload';
COMMENT ON COLUMN events.host IS 'Host that wrote it';
COMMENT ON COLUMN events.pid IS 'Process that wrote it';
COMMENT ON COLUMN events.tool IS 'Name and version of the program that wrote it';
COMMENT ON COLUMN events.digest IS 'sha256 of the line without its digest member';
