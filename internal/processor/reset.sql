TRUNCATE processor.operations RESTART IDENTITY;
