# Runs a PgBouncer until its owner is gone. $1 is the program, $2 the directory of its configuration; the owner holds the other
# end of file descriptor 3 and never writes to it, so that reading it ends when the owner ends.
trap '' HUP INT QUIT TERM
"$1" "$2/pgbouncer.ini" 3<&- &
read -r _ <&3
kill -KILL $!
wait
