#!/usr/bin/env bash
# clean_room.sh SOURCE: the room of scripts/clean_room has the clone, and neither a compiler, nor this machine's homes, nor its
# processes. Runs where an empty system has been made before, since making one takes a minute and a network.
set -euo pipefail
[ -e "${XDG_CACHE_HOME:-$HOME/.cache}/canopy/clean_room.tar" ] ||
  { echo "SKIPPED: no empty system in ~/.cache/canopy; scripts/clean_room makes one"; exit 77; }
status=0
seen=$("$1/scripts/clean_room" run 'ls -d README.md; ls /home; command -v g++ cmake; ls /proc | grep -c "^[0-9]*$"; hostname') || status=$?
[ "$status" -ne 77 ] || exit 77
printf '%s\n' "$seen"
[ "$(sed -n 1,2p <<<"$seen")" = $'README.md\nada' ] || { echo "expected the clone, in one home"; exit 1; }
[ "$(tail -n 1 <<<"$seen")" = clean-room ] || { echo "expected another host name"; exit 1; }
[ "$(wc -l <<<"$seen")" -eq 4 ] || { echo "expected no compiler"; exit 1; }
[ "$(sed -n 3p <<<"$seen")" -le 8 ] || { echo "expected no process of this machine"; exit 1; }
