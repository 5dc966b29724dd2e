#include <cuda/driver.h>

#include <cstdlib>

#include "attention_image.h"
#include "processor.h"

namespace canopy::examples {
namespace {

using namespace canopy::cuda;

/// The store's device, through the primary context that it shares with the store, and a stream on which both queue. So
/// attention runs after the store's writes, copies and moves, without waiting on the CPU.
class Gpu final : public Processor {
 public:
  explicit Gpu(KVStore& store) : store_(store) {
    std::string why;
    const char* chosen = std::getenv("CANOPY_CUDA_DRIVER");  // found in the same way as by the store
    driver_ = Driver::open(chosen && *chosen ? chosen : Driver::kLibrary, why);
    if (!driver_) throw ExampleError(why);
    check("cuInit", driver_->init(0));
    check("cuDeviceGet", driver_->device_get(&device_, store.view().device));
    check("cuDevicePrimaryCtxRetain", driver_->device_primary_ctx_retain(&context_, device_));
    const ContextScope scope(*driver_, context_);
    try {
      check("cuModuleLoadData", driver_->module_load_data(&module_, paged_attention_image));
      check("cuModuleGetFunction", driver_->module_get_function(&attention_, module_, kAttentionKernel));
      check("cuStreamCreateWithPriority", driver_->stream_create_with_priority(&stream_, kStreamNonBlocking, 0));
    } catch (...) {
      if (module_) static_cast<void>(driver_->module_unload(module_));
      static_cast<void>(driver_->device_primary_ctx_release(device_));
      throw;
    }
    store_.use_stream(stream_);
  }
  ~Gpu() override {
    store_.use_stream(nullptr);
    {
      const ContextScope scope(*driver_, context_);
      static_cast<void>(driver_->stream_synchronize(stream_));
      static_cast<void>(driver_->stream_destroy(stream_));
      static_cast<void>(driver_->module_unload(module_));
    }
    static_cast<void>(driver_->device_primary_ctx_release(device_));
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  Buffer put(std::span<const std::byte> bytes) override {
    const ContextScope scope(*driver_, context_);
    DevicePtr address = 0;
    check("cuMemAlloc", driver_->mem_alloc(&address, bytes.size()));
    Buffer buffer(reinterpret_cast<std::byte*>(address), [this, address](std::byte*) {
      const ContextScope freeing(*driver_, context_);
      static_cast<void>(driver_->stream_synchronize(stream_));  // a kernel may still read it
      static_cast<void>(driver_->mem_free(address));
    });
    check("cuMemcpyHtoDAsync", driver_->memcpy_htod_async(address, bytes.data(), bytes.size(), stream_));
    check("cuStreamSynchronize", driver_->stream_synchronize(stream_));  // the caller's bytes have now been read
    return buffer;
  }
  void get(const std::byte* from, std::span<std::byte> to) override {
    const ContextScope scope(*driver_, context_);
    const auto address = reinterpret_cast<DevicePtr>(from);
    check("cuMemcpyDtoHAsync", driver_->memcpy_dtoh_async(to.data(), address, to.size(), stream_));
    check("cuStreamSynchronize", driver_->stream_synchronize(stream_));
  }
  void run(const AttentionJob& job) override {
    const ContextScope scope(*driver_, context_);
    void* parameters[] = {const_cast<AttentionJob*>(&job)};  // read before the call returns
    const std::uint32_t blocks = (job.query_heads * job.head_dim + kAttentionThreads - 1) / kAttentionThreads;
    check(kAttentionKernel,
          driver_->launch_kernel(attention_, blocks, 1, 1, kAttentionThreads, 1, 1, 0, stream_, parameters, nullptr));
  }

 private:
  void check(const char* call, Result result) const {
    if (result != Result::success) throw ExampleError(driver_->sentence(call, result));
  }

  KVStore& store_;
  std::shared_ptr<const Driver> driver_;
  Device device_ = 0;
  ContextHandle context_ = nullptr;
  ModuleHandle module_ = nullptr;
  FunctionHandle attention_ = nullptr;
  StreamHandle stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Processor> make_gpu(KVStore& store) { return std::make_unique<Gpu>(store); }

}  // namespace canopy::examples
