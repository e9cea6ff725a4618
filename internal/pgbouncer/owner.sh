# Runs a PgBouncer until its owner ends it, or has ended. $1 is the program, $2 the directory of its configuration. The owner
# holds the other end of file descriptor 3: it writes a line to end the process, and when it is gone reading fails, and the
# directory goes too.
trap '' HUP INT QUIT TERM
"$1" "$2/pgbouncer.ini" 3<&- &
gone=
read -r _ <&3 || gone=$2
kill -KILL $!
wait
[ -z "$gone" ] || rm -rf "$gone"
