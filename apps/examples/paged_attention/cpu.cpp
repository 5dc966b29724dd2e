#include "processor.h"

namespace canopy::examples {
namespace {

class Cpu final : public Processor {
 public:
  Buffer put(std::span<const std::byte> bytes) override {
    Buffer buffer(new std::byte[bytes.size()], std::default_delete<std::byte[]>());
    std::memcpy(buffer.get(), bytes.data(), bytes.size());
    return buffer;
  }
  void get(const std::byte* from, std::span<std::byte> to) override { std::memcpy(to.data(), from, to.size()); }
  void run(const AttentionJob& job) override {
    for (std::uint32_t thread = 0; thread < kAttentionThreads; ++thread)
      attention_thread(job, thread, kAttentionThreads);
  }
};

}  // namespace

std::unique_ptr<Processor> make_cpu() { return std::make_unique<Cpu>(); }

std::unique_ptr<Processor> processor_beside(KVStore& store) {
  return store.view().device == kHost ? make_cpu() : make_gpu(store);
}

}  // namespace canopy::examples
