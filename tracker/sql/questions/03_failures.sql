-- What failed, why, and did a later attempt mend it?
SELECT campaign, cell, number, kind, message, samples, resolved
FROM failures
ORDER BY resolved, campaign, cell, number;
