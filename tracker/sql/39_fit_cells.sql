CREATE VIEW fit_cells AS
SELECT
    campaign, segment AS fit, data ->> '$.cell' AS cell, data ->> '$.state' AS state,
    CAST(data ->> '$.held_out' AS BOOLEAN) AS held_out,
    data ->> '$.selection.selected' AS selected, data ->> '$.selection.best' AS best,
    CAST(data ->> '$.selection.regret_pct' AS DOUBLE) AS regret_pct,
    CAST(data ->> '$.selection.noise_pct' AS DOUBLE) AS noise_pct,
    data ->> '$.selection.unseen' AS unseen,
    CAST(data ->> '$.selection.unseen_regret_pct' AS DOUBLE) AS unseen_regret_pct,
    data ->> '$.selection.hand_set' AS hand_set,
    CAST(data ->> '$.selection.hand_set_regret_pct' AS DOUBLE) AS hand_set_regret_pct
FROM _facts
WHERE type = 'fit.cell_judged'
ORDER BY campaign, segment, seq;

COMMENT ON VIEW fit_cells IS 'Each cell as a fit saw it: what its table selects there, and what that costs';
COMMENT ON COLUMN fit_cells.campaign IS 'Campaign';
COMMENT ON COLUMN fit_cells.fit IS 'Segment id of the fit';
COMMENT ON COLUMN fit_cells.cell IS 'Key of the cell';
COMMENT ON COLUMN fit_cells.state IS 'completed, imported, excluded, failed, running or missing, at that time';
COMMENT ON COLUMN fit_cells.held_out IS 'Whether the table was kept from it';
COMMENT ON COLUMN fit_cells.selected IS 'Candidate that the table selects; null where the cell is not retained';
COMMENT ON COLUMN fit_cells.best IS 'The fastest candidate';
COMMENT ON COLUMN fit_cells.regret_pct IS 'How far the selected lies above the fastest, percent';
COMMENT ON COLUMN fit_cells.noise_pct IS 'Two standard errors of the difference of the two medians, percent; null where unknown';
COMMENT ON COLUMN fit_cells.unseen IS 'Selected by a table that had not seen the cell';
COMMENT ON COLUMN fit_cells.unseen_regret_pct IS 'What that costs, percent';
COMMENT ON COLUMN fit_cells.hand_set IS 'Selected by version 1, the hand-set score';
COMMENT ON COLUMN fit_cells.hand_set_regret_pct IS 'What that costs, percent';
