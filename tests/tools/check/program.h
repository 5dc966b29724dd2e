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

#include "faulty.h"
#include "operation.h"
#include "trial.h"

namespace canopy::check {

/// An engine and what happens to it. As a file, which is YAML:
///
///   engine:                  # as in an engine's file
///     page_size: 4
///     ...
///   operations:              # operation.h has the words
///     - begin 1 0 1 2 2
///     - reserve 1 4
struct Program {
  std::string engine;  ///< the text of its file
  std::vector<std::string> groups;
  std::vector<Operation> operations;
};

/// How a program ended.
struct Verdict {
  enum class Kind : std::uint8_t { clean, violation, crash, hang, unusable };
  Kind kind = Kind::clean;
  std::uint64_t operation = 0;  ///< during which it was seen, from 1; after the last: at the end
  std::string sentence;         ///< empty if it is clean
};

Result<Program> read_program(const std::string& path, const Registry& registry);
/// `source` names the text in messages.
Result<Program> program_of(std::string_view text, const std::string& source, const Registry& registry);
/// `about`: lines for a person, in front as comments.
std::string text_of(const Program& program, const std::vector<std::string>& about);

/// An engine of a program, among components that can fail.
struct Subject {
  Faults faults;
  std::unique_ptr<Engine> engine;
  bool inserts_at_finish = true;
  std::vector<std::string> groups;
};
/// Returns the engine of a file's text. An error ends with the text.
Result<std::unique_ptr<Subject>> subject_of(const std::string& text, const Registry& registry);

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

/// Runs it here: a crash is one of this process.
Verdict run_here(const Program& program, const Registry& registry);
/// Calls work() in a process of its own, which has so many seconds. `quiet`: what it writes to stderr is
/// lost. REQUIRES: this process has one thread.
Verdict run_apart(const std::function<Verdict()>& work, unsigned seconds, bool quiet);
/// In a child: it ends with its parent, and a crash is a signal that the parent sees. It has so many seconds of
/// processor time from now on, and ten times as many on the clock, since a machine may be busy with something else.
void be_a_child(unsigned seconds);
/// What waitpid() says of a process that did not end by itself.
Verdict verdict_of(int status, unsigned seconds);

}  // namespace canopy::check
