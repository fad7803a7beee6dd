-- Which registered versions does a cell support, in training or by holdout?
SELECT cells.campaign, cells.cell, versions.model, versions.version, versions.table_id,
    CASE WHEN cells.held_out THEN 'holdout' ELSE 'training' END AS part
FROM versions
JOIN certificates ON certificates.certificate = versions.certificate AND certificates.issued
JOIN fits ON fits.fit = certificates.fit
JOIN certificate_cells AS cells ON cells.campaign = fits.campaign
WHERE list_contains(CAST(fits.result -> '$.training_cells' AS VARCHAR[]), cells.cell)
    OR list_contains(CAST(fits.result -> '$.holdout_cells' AS VARCHAR[]), cells.cell)
ORDER BY cells.campaign, cells.cell, versions.version, versions.table_id;
