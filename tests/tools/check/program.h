#pragma once

#include <canopy/base/registry.h>
#include <canopy/base/result.h>
#include <sys/mman.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <program/operation.h>

namespace canopy::check {

using program::Operation, program::Verb;

/// An engine and the operations on it. As a YAML file:
///
///   engine:                  # as in an engine file
///     page_size: 4
///     ...
///   operations:              # see <program/operation.h>
///     - begin 1 0 1 2 2
///     - reserve 1 4
///   ranks: 2                 # may be left out
struct Program {
  std::string engine;  ///< text of the engine's file
  std::vector<Operation> operations;
  unsigned ranks = 1;  ///< engines under these operations
};

/// The end of a program.
struct Verdict {
  enum class Kind : std::uint8_t { clean, violation, crash, hang, unusable };
  Kind kind = Kind::clean;
  std::uint64_t operation = 0;  ///< operation during which it was detected, from 1; after the last one: at the end
  std::string sentence;         ///< error message; empty if the program is clean
};

Result<Program> read_program(const std::string& path, const Registry& registry);
/// Parses a program. `source` names the text in messages.
Result<Program> program_of(std::string_view text, const std::string& source, const Registry& registry);
/// Returns a program as text. `about`: lines for people, which are written first, as comments.
std::string text_of(const Program& program, const std::vector<std::string>& about);

/// Memory that processes share.
template <class T>
class Shared {
 public:
  Shared() {
    void* memory =
        ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    value_ = new (memory) T{};
  }
  ~Shared() { ::munmap(value_, sizeof(T)); }
  Shared(const Shared&) = delete;
  T* operator->() { return value_; }

 private:
  T* value_;
};

/// Runs a program in this process, which a crash ends.
Verdict run_here(const Program& program, const Registry& registry);
/// Calls work() in a separate process, which may take `seconds` seconds. `quiet`: discards its output on stderr.
/// REQUIRES: this process has one thread.
Verdict run_apart(const std::function<Verdict()>& work, unsigned seconds, bool quiet);
/// Prepares a child process: it ends with its parent, and a crash is a signal for the parent. It may take `seconds`
/// seconds of processor time from now on, and ten times that on the clock, because the machine may be busy with other
/// work.
void be_a_child(unsigned seconds);
/// Returns the verdict for the status from waitpid() of a process that did not end by itself.
Verdict verdict_of(int status, unsigned seconds);

}  // namespace canopy::check
