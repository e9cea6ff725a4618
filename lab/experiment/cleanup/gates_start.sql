ALTER SEQUENCE cleanup.gates_passed RESTART;
