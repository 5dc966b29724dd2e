"""Reads the feed of a running server for a while, and writes what it saw: vllm_feed.py NAME FILE."""
import json
import sys
import time

import canopy

print("ready", flush=True)
feed = canopy.Feed.attach(sys.argv[1], timeout=20)
most, until = {}, time.monotonic() + 20
while not feed.gone and time.monotonic() < until:
    feed.poll()
    now = feed.sums
    if now["in_step"] and now["nodes"]:
        most = now | {"pool": feed.pools[0], "groups": [pool["group"] for pool in feed.pools], "next": len(feed.next_to_evict(5)),
                      "config": feed.config, "page": feed.page_size}
    time.sleep(0.01)
with open(sys.argv[2], "w") as file:
    json.dump(most, file)
