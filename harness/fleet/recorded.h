#pragma once

#include <canopy/routing/event_intake.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fleet.h"

namespace canopy::fleet {

/// A recorded stream of one worker, read to its end.
struct RecordedWorker {
  std::string name;
  std::uint64_t messages = 0, missing = 0, restarts = 0;
  routing::IntakeCounts counts;
  std::size_t blocks = 0;  ///< that it has at the end
};

/// Workers that hold what their recorded KV events say at the end of each stream. They stay as they are: a request
/// changes nothing, and what it would find is what the index says. A request's namespace is the salt of its prompts.
class RecordedCaches final : public Caches {
 public:
  /// `streams`: a name and the bytes of each, in the format of wire::RecordedStream. All workers have the block size of
  /// the first block that is stored. `secret`: see routing::FlatTable.
  static Result<std::unique_ptr<RecordedCaches>> read(const std::vector<std::pair<std::string, std::string>>& streams,
                                                      std::uint64_t secret);

  std::size_t workers() const override { return workers_.size(); }
  std::uint32_t block_tokens() const override { return index_->block_tokens(); }
  void look(const workload::ClientRequest& client, std::vector<scheduling::RouteWorker>& workers) override;
  std::optional<std::uint32_t> serve(std::size_t worker, const workload::ClientRequest& client) override;

  const std::vector<RecordedWorker>& recorded() const { return workers_; }

 private:
  RecordedCaches() = default;
  Result<std::monostate> read(std::size_t worker, std::string_view bytes);

  std::unique_ptr<routing::BlockIndex> index_;
  std::vector<RecordedWorker> workers_;
  std::vector<routing::Overlap> found_;
  routing::BlockIndex::Scratch scratch_;
};

}  // namespace canopy::fleet
