SELECT CASE WHEN is_called THEN last_value ELSE 0 END::integer AS passed
FROM cleanup.gates_passed;
