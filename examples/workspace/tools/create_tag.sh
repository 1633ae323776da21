#!/bin/sh
# Create a tag. Here it is a file, so the example changes nothing else.
set -eu
mkdir -p releases
sleep "${METIER_EXAMPLE_WAIT:-0}"
printf '%s\n' "$1" >releases/tag
printf '{"tag": "releases/tag"}\n'
