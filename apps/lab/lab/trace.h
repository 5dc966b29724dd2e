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

/// Called now and then with the progress of the work (0..1) and the requests so far.
using Progress = std::function<void(double, std::uint64_t)>;

/// A request without its words.
struct Arrival {
  std::uint64_t arrival_ms = 0;
  std::uint32_t space = 0;  ///< index into Trace::spaces
  std::int32_t priority = 0;
  std::uint32_t prompt_tokens = 0, output_tokens = 0;
  std::uint32_t turn = 0;  ///< turn of its conversation, from 1; 0: the source has none
};

/// A whole trace in memory, read once for any number of replays, and its history in units. Costs 4 bytes per prompt
/// token, or 4 bytes per block with `blocks`.
struct Trace {
  std::vector<workload::ClientRequest> requests;  ///< input of engines; with blocks, a token is a block's number
  std::vector<Arrival> arrivals;                  ///< by request
  std::vector<std::string> spaces;
  History history;
  Cut cut;
  std::uint64_t seed = 0;
  std::uint64_t hash = 0;  ///< hash of all requests, whatever file they came from; seeds and page sizes are not in it
  bool stopped = false;    ///< true if reading was stopped: the trace is incomplete
  Doubts doubts;           ///< RequestSource::doubts
  std::vector<std::string> notes;  ///< advice for a reader of figures

  std::uint64_t tokens(std::uint32_t request, std::uint64_t units) const {
    return cut.tokens(units, arrivals[request].prompt_tokens);
  }
  /// Returns the turn that the source has for a request, or else the one that follows from the prefixes.
  std::uint32_t turn(std::uint32_t request) const {
    return arrivals[request].turn ? arrivals[request].turn : history.turn(request);
  }
  /// Returns the tokens of the distinct units: what a cache without a limit holds. The last part of a prompt, with
  /// `blocks`, counts with the tokens that it has.
  std::uint64_t distinct_tokens() const;
};

struct ReadOptions {
  Units page_size = 1;                ///< tokens of a page or, with `blocks`, of a block
  bool blocks = false;                ///< engines replay block numbers, and a partial last block is a unit
  Units block = 1;                    ///< tokens of a block of the trace; 1: the trace has tokens
  bool requests = true;               ///< true: keep the input of engines
  std::shared_ptr<KeyCodec> codec{};  ///< the engines' codec; may be null (tokens are the words)
  std::function<bool()> stopped = {};
};

/// Reads a source to its end. Returns the source's error, or one if its prompts do not fit into this machine's memory.
Result<Trace> read_trace(workload::RequestSource& source, const ReadOptions& options, const Progress& progress);

/// Returns a source of the trace's requests from the first one. REQUIRES: `trace` outlives the source.
std::unique_ptr<workload::RequestSource> replay_of(const Trace& trace);

}  // namespace canopy::lab
