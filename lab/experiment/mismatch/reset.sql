TRUNCATE mismatch.keys, mismatch.movements;
