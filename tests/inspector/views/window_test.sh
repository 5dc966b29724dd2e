#!/usr/bin/env bash
# A real window under Xvfb: it opens, takes a key and a click, and remembers the theme when it is closed.
set -euo pipefail
inspector=$1
for tool in Xvfb xdotool; do
  command -v "$tool" >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 0; }
done
work=$(mktemp -d)
trap 'kill "${window_pid:-}" "${x_pid:-}" 2>/dev/null || true; rm -rf "$work"' EXIT

exec 3<>"$work/display"
Xvfb -displayfd 3 -screen 0 1600x900x24 -nolisten tcp >/dev/null 2>&1 &
x_pid=$!
for _ in $(seq 100); do [ -s "$work/display" ] && break; sleep 0.1; done
export DISPLAY=:$(head -n 1 "$work/display") XDG_CONFIG_HOME=$work
# GLX leaves a little behind that no suppression can name.
ASAN_OPTIONS=detect_leaks=0 "$inspector" &
window_pid=$!
window=$(timeout 30 xdotool search --sync --name '^canopy$' | head -n 1)
sleep 2
xdotool windowfocus "$window"
xdotool key t
sleep 1
xdotool mousemove --window "$window" 300 200 mousedown 1
sleep 0.3
xdotool mouseup 1
sleep 0.5
kill -0 "$window_pid"
grep -q 'theme = light' "$work/canopy/inspector.ini"  # at once, not at its end
# A key that is let go within a frame.
xdotool key --delay 0 P
sleep 1
xdotool key --delay 0 Escape
sleep 0.5
# Nothing moves while its demo engine is paused: it waits.
xdotool key space
sleep 2
before=$(awk '{print $14 + $15}' "/proc/$window_pid/stat")
sleep 2
spent=$(($(awk '{print $14 + $15}' "/proc/$window_pid/stat") - before))
echo "while paused: $spent of 200 ticks"
[ "$spent" -lt 60 ]
xdotool keydown ctrl keydown q
sleep 0.5
xdotool keyup q keyup ctrl || true
for _ in $(seq 50); do kill -0 "$window_pid" 2>/dev/null || break; sleep 0.1; done
grep -q 'theme = light' "$work/canopy/inspector.ini" && echo "a window opened, took a key and was closed"
