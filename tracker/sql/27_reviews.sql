CREATE VIEW reviews AS
SELECT
    data ->> '$.certificate' AS certificate, data ->> '$.aspect' AS aspect, data ->> '$.verdict' AS verdict,
    data ->> '$.by' AS "by", data ->> '$.reason' AS reason, time,
    row_number() OVER (
        PARTITION BY data ->> '$.certificate', data ->> '$.aspect', data ->> '$.by' ORDER BY segment DESC, seq DESC
    ) = 1 AS stands,
    campaign, segment
FROM _facts
WHERE type = 'review.recorded'
ORDER BY certificate, segment, seq;

COMMENT ON VIEW reviews IS 'Verdicts of people on certificates';
COMMENT ON COLUMN reviews.certificate IS 'Digest of the certificate: another digest voids the review';
COMMENT ON COLUMN reviews.aspect IS 'correctness or adoption';
COMMENT ON COLUMN reviews.verdict IS 'clear, changes_requested, approve or hold';
COMMENT ON COLUMN reviews.by IS 'Who';
COMMENT ON COLUMN reviews.reason IS 'Why';
COMMENT ON COLUMN reviews.time IS 'When, UTC';
COMMENT ON COLUMN reviews.stands IS 'Whether it is that person''s last word on that aspect';
COMMENT ON COLUMN reviews.campaign IS 'Campaign whose log records it';
COMMENT ON COLUMN reviews.segment IS 'Segment that records it';
