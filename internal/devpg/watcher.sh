# Removes a server whose owner is gone. $1 is the server's directory; the owner
# holds the other end of file descriptor 3 and never writes to it, so that
# reading it ends when the owner ends.
dir=$1
trap '' HUP INT QUIT TERM
read -r _ <&3

# Moved away, so that a server that is just being started can no longer write
# its pid there, and does not start.
gone=$dir.gone
mv "$dir" "$gone" || exit 1

# initdb or the postmaster, whichever ran last. QUIT is PostgreSQL's immediate
# shutdown, at the end of which the lock file goes; who does not obey within 2 s
# is killed.
pid=
if [ -r "$gone/pid" ]; then
    read -r pid <"$gone/pid"
fi
if [ -n "$pid" ]; then
    kill -QUIT "$pid"
    n=0
    while kill -0 "$pid" && [ -e "$gone/data/postmaster.pid" ] && [ $n -lt 20 ]; do
        sleep 0.1
        n=$((n + 1))
    done
    kill -KILL "$pid"
fi

# A postmaster that was killed leaves its lock file and, named in the file's
# seventh line, a shared memory segment of 56 bytes.
if [ -r "$gone/data/postmaster.pid" ]; then
    {
        for n in 1 2 3 4 5 6; do read -r _; done
        read -r _ shmid
    } <"$gone/data/postmaster.pid"
    [ -n "$shmid" ] && ipcrm -m "$shmid"
fi

# Processes of a killed postmaster may still be writing here.
n=0
until rm -rf "$gone" || [ $n -ge 50 ]; do
    sleep 0.1
    n=$((n + 1))
done
