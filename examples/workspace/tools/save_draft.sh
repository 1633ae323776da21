#!/bin/sh
# Save the draft of an announcement. Refuses when there is no folder to save it in.
set -eu
if [ ! -d announcements ]; then
    echo "there is no folder 'announcements'" >&2
    exit 1
fi
printf '%s\n' "$1" >announcements/draft.txt
printf '{"draft": "announcements/draft.txt"}\n'
