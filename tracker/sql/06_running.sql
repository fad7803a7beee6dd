-- Internal: cells whose attempt has an open segment, as of the last refresh; a hint, not evidence.
CREATE OR REPLACE VIEW _running AS
SELECT * FROM (VALUES {{running}}) AS attempt (campaign, segment, cell) WHERE campaign IS NOT NULL;
