#!/usr/bin/env bash
# release.sh SOURCE FOLDER: scripts/release and scripts/clean_room refuse what they cannot do before they build or remove anything.
set -euo pipefail
rm -rf "$2"
mkdir -p "$2"
echo mine >"$2/file"
# refused WORDS COMMAND...: fails unless the command ends with 2 and says the words.
refused() {
  local words=$1 status=0 said
  shift
  said=$("$@" 2>&1) || status=$?
  [ "$status" -eq 2 ] && grep -qF -- "$words" <<<"$said" || { echo "$*: exit code $status, and it says: $said"; exit 1; }
}
refused "has other files" "$1/scripts/release" --packages "$2"
[ "$(cat "$2/file")" = mine ]
refused "scripts/release --packages [DIR]" "$1/scripts/release" --unknown
refused "scripts/clean_room wheel" "$1/scripts/clean_room" unknown
refused "expected a line" "$1/scripts/clean_room" run
