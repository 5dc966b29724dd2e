#include "engine_replay.h"

#include <fmt/format.h>

#include "clock.h"
#include "replay_source.h"
#include "subject.h"

namespace canopy::bench {
namespace {

/// Adds up the time that making the requests takes.
class TimedSource final : public workload::RequestSource {
 public:
  explicit TimedSource(workload::RequestSource& source) : source_(source) {}
  Result<bool> next(workload::ClientRequest& request) override {
    const double start = now(), cpu_start = cpu_now();
    auto more = source_.next(request);
    cpu_seconds_ += cpu_now() - cpu_start;
    seconds_ += now() - start;
    return more;
  }
  double progress() const override { return source_.progress(); }
  double seconds() const { return seconds_; }
  double cpu_seconds() const { return cpu_seconds_; }

 private:
  workload::RequestSource& source_;
  double seconds_ = 0, cpu_seconds_ = 0;
};

}  // namespace

Result<EngineReplay> replay_engine(const Setting& setting, const std::string& feed,
                                   const std::function<Result<std::monostate>(Engine&)>& begin,
                                   TreeListener* listener) {
  auto source = open_source(setting.options);
  if (!source) return source.error();
  const std::string text = fmt::format(
      "{{ page_size: 16, index: {}, groups: {{ full: {{ reach: path, capacity: {}, allocator: free_list, eviction: "
      "lru }} }}, store: none, feed: {} }}",
      setting.options.index, source->capacity, feed);
  auto engine = make_engine(setting.registry, text, listener);
  if (!engine) return engine.error();
  if (begin)
    if (auto begun = begin(**engine); !begun) return begun.error();
  TimedSource timed(*source->requests);
  replay::Options options;
  options.limit = source->limit;
  options.content = false;
  const double start = cpu_now();
  auto ran = replay::run(**engine, timed, options, {});
  const double cpu_seconds = cpu_now() - start - timed.cpu_seconds();
  if (!ran) return ran.error();
  const double seconds = ran->seconds - timed.seconds();
  return EngineReplay{std::move(*engine), std::move(*ran), seconds, cpu_seconds, source->name};
}

}  // namespace canopy::bench
