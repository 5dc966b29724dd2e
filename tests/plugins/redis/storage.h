#pragma once

#include <conformance/model/plugins.h>
#include <conformance/model/storage_caller.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace canopy::test {

inline const PageKey kSpace = key_of(0xFFFFFFFF, 0);
using Keys = StorageCaller::Keys;

inline PageStorage::Context context_of(std::uint64_t record_bytes) {
  PageStorage::Context context;
  context.record_bytes = record_bytes;
  return context;
}

/// The storage redis, as an engine calls it. Each is what another process would be.
inline std::unique_ptr<StorageCaller> caller_at(const std::string& address, std::uint64_t record_bytes = 8192,
                                                const std::string& more = {}, std::uint32_t room = 64) {
  const auto context = context_of(record_bytes);
  auto storage =
      make<PageStorage>("redis", context, "{ at: '" + address + "'" + (more.empty() ? "" : ", " + more) + " }");
  return std::make_unique<StorageCaller>(std::move(storage), context, 1, room);
}

/// The first pages of a path as an engine names them: 64 pages of a block have one home.
inline Keys blocks_of(std::uint32_t path, std::uint32_t pages, std::uint32_t first = 0) {
  Keys keys = path_of(path, pages, first);
  for (std::uint32_t i = 0; i < pages; ++i) keys[i].bits[3] = key_of(path, (first + i) / 64 * 64).bits[0];
  return keys;
}

/// Captures stderr while it lives.
class CapturedStderr {
 public:
  CapturedStderr() : kept_(::dup(2)) {
    std::fflush(stderr);
    ::dup2(::fileno(file_), 2);
  }
  ~CapturedStderr() {
    std::fflush(stderr);
    ::dup2(kept_, 2);
    ::close(kept_);
    std::fclose(file_);
  }
  std::string text() const {
    std::ifstream all("/proc/self/fd/" + std::to_string(::fileno(file_)));
    std::stringstream text;
    text << all.rdbuf();
    return text.str();
  }

 private:
  std::FILE* file_ = std::tmpfile();
  int kept_;
};

}  // namespace canopy::test
