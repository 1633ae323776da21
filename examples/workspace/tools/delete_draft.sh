#!/bin/sh
set -eu
rm -f announcements/draft.txt
printf '{"deleted": true}\n'
