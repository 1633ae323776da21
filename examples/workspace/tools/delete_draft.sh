#!/bin/sh
set -eu
rm -f "$1/draft.txt"
printf '{"deleted": true}\n'
