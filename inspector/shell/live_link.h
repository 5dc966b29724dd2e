#pragma once

#include <sources/kept_past.h>

#include <optional>
#include <span>
#include <utility>

#include "link.h"

namespace canopy::inspector {

/// A link to a feed that goes on. The mirror follows it or, while the time is held, shows an earlier moment. The feed
/// is read on meanwhile, so that going back to the present costs nothing and loses nothing.
class LiveLink : public Link {
 public:
  const FeedShape& header() const override = 0;
  bool pump(Mirror& mirror, Session& session, Timeline& time, std::chrono::milliseconds budget) override;

 protected:
  /// `source`: Session::source. `past_bytes`: memory for going back (KeptPast).
  LiveLink(std::string name, std::string source, std::size_t past_bytes)
      : name_(std::move(name)), source_(std::move(source)), past_(past_bytes) {}

  enum class Arrived : std::uint8_t { nothing, events, lapped };
  /// Gets the next events, which stay valid until the next call.
  virtual Arrived next(std::span<const Event>& events) = 0;
  /// Returns the reason why the feed has ended; empty while it goes on.
  virtual std::string ended() const = 0;

 private:
  bool read(Mirror& now, Session& session, Timeline& time, KeptPast::Clock::time_point until);

  std::string name_, source_;
  KeptPast past_;
  std::optional<Mirror> now_;  ///< the present, while the link's mirror shows an earlier moment
  std::uint64_t place_ = 0;    ///< place of that mirror in the past
};

}  // namespace canopy::inspector
