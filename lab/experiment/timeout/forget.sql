TRUNCATE idem.keys, idem.steps;
