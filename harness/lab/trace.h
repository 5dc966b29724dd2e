#pragma once

#include <canopy/key_codec.h>
#include <workload/request_source.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "history.h"
#include "prints.h"

namespace canopy::lab {

/// Called now and then: how far the work is (0..1), and requests so far.
using Progress = std::function<void(double, std::uint64_t)>;

/// What the lab knows of a request besides its words.
struct Asked {
  std::uint64_t arrival_ms = 0;
  std::uint32_t space = 0;  ///< index into Trace::spaces
  std::int32_t priority = 0;
  std::uint32_t prompt_tokens = 0, output_tokens = 0;
};

/// A whole trace in memory, read once for any number of replays, and its history in units. Costs 4 bytes for each
/// prompt token; with blocks, 4 bytes for each block.
struct Trace {
  std::vector<workload::ClientRequest> requests;  ///< what engines replay; with blocks, a token is a block's number
  std::vector<Asked> asked;                       ///< by request
  std::vector<std::string> spaces;
  History history;
  Cut cut;
  std::uint64_t seed = 0;
  bool stopped = false;  ///< the reading was: the trace is not whole

  std::uint64_t tokens(std::uint32_t request, std::uint64_t units) const {
    return cut.tokens(units, asked[request].prompt_tokens);
  }
};

struct ReadOptions {
  Units page_size = 1;                ///< tokens of a page or, with `blocks`, of a block
  bool blocks = false;                ///< engines replay block numbers, and a partial last block is a unit
  Units block = 1;                    ///< tokens that a block of the trace has; 1: it knows tokens
  bool requests = true;               ///< keep what engines replay
  std::shared_ptr<KeyCodec> codec{};  ///< the engines'; null: tokens are the words
  std::function<bool()> stopped = {};
};

/// Reads a source to its end. An error is the source's, or says that its prompts do not fit into this machine's memory.
Result<Trace> read_trace(workload::RequestSource& source, const ReadOptions& options, const Progress& progress);

/// The requests of a trace again, from its first one. REQUIRES: `trace` outlives the source.
std::unique_ptr<workload::RequestSource> replay_of(const Trace& trace);

}  // namespace canopy::lab
