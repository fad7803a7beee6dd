-- What the lines of an attempt say of it as a whole: how it began, what it ran, how it ended.
CREATE OR REPLACE MACRO attempt_outcomes(lines) AS TABLE
SELECT
    campaign, cell, segment AS attempt,
    max(CAST(data ->> '$.number' AS INTEGER)) FILTER (type = 'cell.started') AS number,
    any_value(data ->> '$.engine') FILTER (type = 'cell.started') AS engine,
    min(time) FILTER (type = 'cell.started') AS started,
    arg_max(type, seq) FILTER (type IN ('cell.completed', 'cell.failed', 'cell.imported')) AS outcome,
    max(time) FILTER (type IN ('cell.completed', 'cell.failed', 'cell.imported')) AS ended,
    arg_max(data ->> '$.kind', seq) FILTER (type = 'cell.failed') AS failure,
    arg_max(CAST(data ->> '$.wall_s' AS DOUBLE), seq) FILTER (type = 'cell.completed') AS wall_s,
    arg_max(data ->> '$.end.reason', seq) FILTER (type = 'cell.completed') AS stopped,
    arg_max(CAST(data ->> '$.end.saved' AS INTEGER), seq) FILTER (type = 'cell.completed') AS rounds_saved,
    any_value(identity) AS identity,
    any_value(facts) AS facts,
    any_value(fingerprint) AS fingerprint,
    any_value(data -> '$.environment') FILTER (type = 'cell.started') AS environment,
    any_value(len(candidates)) AS candidates,
    any_value(list_sum(list_transform(candidates, lambda item: item.n))) AS imported_samples
FROM query_table(lines)
WHERE type IN ('cell.started', 'cell.described', 'cell.completed', 'cell.failed', 'cell.imported')
  AND cell IS NOT NULL
GROUP BY campaign, cell, segment;
