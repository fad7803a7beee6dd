CREATE VIEW promotions AS
SELECT
    data ->> '$.model' AS model, data ->> '$.alias' AS alias, CAST(data ->> '$.version' AS INTEGER) AS version,
    CAST(data ->> '$.previous' AS INTEGER) AS previous, data ->> '$.by' AS "by", data ->> '$.reason' AS reason,
    coalesce(CAST(data ->> '$.forced' AS BOOLEAN), false) AS forced,
    coalesce(data ->> '$.origin', 'promote') AS origin, time, campaign, segment
FROM _facts
WHERE type = 'alias.moved'
ORDER BY segment, seq;

COMMENT ON VIEW promotions IS 'Every move of an alias of the registered model, in order';
COMMENT ON COLUMN promotions.model IS 'Registered model';
COMMENT ON COLUMN promotions.alias IS 'Alias';
COMMENT ON COLUMN promotions.version IS 'Version that it points to since; null when removed';
COMMENT ON COLUMN promotions.previous IS 'Version before';
COMMENT ON COLUMN promotions.by IS 'Who moved it';
COMMENT ON COLUMN promotions.reason IS 'Why';
COMMENT ON COLUMN promotions.forced IS 'Whether requirements were overridden';
COMMENT ON COLUMN promotions.origin IS 'promote, rollback, or observed where someone else moved it';
COMMENT ON COLUMN promotions.time IS 'When, UTC';
COMMENT ON COLUMN promotions.campaign IS 'Campaign whose log records it';
COMMENT ON COLUMN promotions.segment IS 'Segment that records it';
