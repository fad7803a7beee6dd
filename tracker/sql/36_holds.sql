CREATE VIEW holds AS
SELECT
    placed.segment AS hold, placed.data ->> '$.target' AS target,
    CAST(placed.data ->> '$.version' AS INTEGER) AS version, placed.data ->> '$.certificate' AS certificate,
    placed.data ->> '$.by' AS "by", placed.data ->> '$.reason' AS reason, placed.time,
    released."by" AS released_by, released.reason AS released_reason, released.time AS released,
    placed.campaign, placed.segment
FROM _facts AS placed
LEFT JOIN (
    SELECT
        data ->> '$.hold' AS hold, arg_min(data ->> '$.by', segment) AS "by",
        arg_min(data ->> '$.reason', segment) AS reason, arg_min(time, segment) AS time
    FROM _facts
    WHERE type = 'hold.released'
    GROUP BY ALL
) AS released ON released.hold = placed.segment
WHERE placed.type = 'hold.placed'
ORDER BY placed.segment;

COMMENT ON VIEW holds IS 'What people keep from being promoted, and since when it is released';
COMMENT ON COLUMN holds.hold IS 'The hold''s id';
COMMENT ON COLUMN holds.target IS 'version or certificate';
COMMENT ON COLUMN holds.version IS 'The version that is held, if it is one';
COMMENT ON COLUMN holds.certificate IS 'Digest of the certificate that is held, if it is one';
COMMENT ON COLUMN holds.by IS 'Who holds';
COMMENT ON COLUMN holds.reason IS 'Why';
COMMENT ON COLUMN holds.time IS 'When, UTC';
COMMENT ON COLUMN holds.released_by IS 'Who released it first; null while it binds';
COMMENT ON COLUMN holds.released_reason IS 'Why it was released';
COMMENT ON COLUMN holds.released IS 'When it was released, UTC; null while it binds';
COMMENT ON COLUMN holds.campaign IS 'Campaign whose log records it';
COMMENT ON COLUMN holds.segment IS 'Segment that records it';
