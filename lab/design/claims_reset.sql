TRUNCATE lab.claims;
