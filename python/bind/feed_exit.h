#pragma once

#include <canopy/feed/sink.h>

namespace canopy::python {

/// Remembers a feed that this process has opened. If its shared memory is still there when Python has ended, it is
/// removed: an object of a daemon thread is never destroyed.
void remove_at_exit(const FeedConfig& feed);

}  // namespace canopy::python
