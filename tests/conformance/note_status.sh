#!/bin/sh
# note_status.sh FILE COMMAND...: runs the command and leaves its exit status in FILE. The suite itself takes a client that was
# ended by a signal for one that succeeded.
file=$1
shift
"$@"
status=$?
echo "$status" >"$file"
exit "$status"
