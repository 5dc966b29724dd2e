#pragma once

#include <cstdint>
#include <string>

namespace canopy {

/// Where an engine's KV events go and in which form. In an engine's file: `off`, or
/// `{ zmq: { publish: tcp://127.0.0.1:5557, replay: tcp://127.0.0.1:5558, topic: kv@pod-1@llama } }`.
struct KvEventsConfig {
  enum class Dialect : std::uint8_t { maps, arrays };
  enum class Hashes : std::uint8_t { sglang, vllm };
  bool on = false;
  std::string publish = "tcp://127.0.0.1:5557";  ///< the endpoint that subscribers connect to
  std::string replay;                            ///< the endpoint that is asked for past batches; empty: none
  std::string topic;                             ///< in front of each message
  Dialect dialect = Dialect::maps;
  Hashes hashes = Hashes::sglang;
  std::string seed = "0";  ///< of vLLM's hashes: the PYTHONHASHSEED of the servers beside it
};

}  // namespace canopy
