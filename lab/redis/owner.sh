# Runs a redis-server until its owner ends it, or has ended. $1 is the program, $2 the directory of its configuration. The owner
# holds the other end of file descriptor 3 and never writes to it: reading it fails when the owner has closed it or is gone.
trap '' HUP INT QUIT TERM
"$1" "$2/redis.conf" 3<&- &
read -r _ <&3
kill -KILL $!
wait
rm -rf "$2"
