#!/bin/sh
set -eu
rm -f releases/tag
printf '{"deleted": true}\n'
