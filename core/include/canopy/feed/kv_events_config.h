#pragma once

#include <canopy/words.h>

#include <cstdint>
#include <string>

namespace canopy {

/// Destination and format of an engine's KV events. In an engine's file: `off`, or `{ zmq: { publish:
/// tcp://127.0.0.1:5557, replay: tcp://127.0.0.1:5558, topic: kv@pod-1@llama } }`.
struct KVEventsConfig {
  enum class Dialect : std::uint8_t { maps, arrays };
  enum class Hashes : std::uint8_t { sglang, vllm };
  bool on = false;
  std::string publish = "tcp://127.0.0.1:5557";  ///< endpoint that subscribers connect to
  std::string replay;                            ///< endpoint that serves past batches; may be empty (none)
  std::string topic;                             ///< prefix of each message
  Dialect dialect = Dialect::maps;
  Hashes hashes = Hashes::sglang;
  std::string seed = "0";  ///< seed of vLLM's hashes: the PYTHONHASHSEED of the servers beside it
};
template <>
struct NamesOf<KVEventsConfig::Dialect> {
  static constexpr const char* kAll[] = {"maps", "arrays"};
};
template <>
struct NamesOf<KVEventsConfig::Hashes> {
  static constexpr const char* kAll[] = {"sglang", "vllm"};
};

}  // namespace canopy
