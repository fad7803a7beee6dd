-- Which samples could not be used, and why?
SELECT campaign, role, coalesce(reason, 'no reason given') AS reason, count(*) AS samples
FROM samples
WHERE NOT usable
GROUP BY ALL
ORDER BY samples DESC, campaign, role, reason;
