#!/bin/sh
# Save the draft of an announcement. Fails if its folder does not exist.
set -eu
if [ ! -d "$3" ]; then
    echo "there is no folder '$3'" >&2
    exit 1
fi
printf '%s\n\n%s\n' "$1" "$2" >"$3/draft.txt"
printf '{"draft": "%s/draft.txt"}\n' "$3"
