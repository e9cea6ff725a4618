TRUNCATE webhook.courses, webhook.invoices, webhook.seen, webhook.ledger, webhook.claims;
