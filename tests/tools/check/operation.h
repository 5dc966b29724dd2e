#pragma once

#include <canopy/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace canopy::check {

/// An operation on an engine. A request is identified by the number in the operation that begins it. An operation on a
/// request that does not exist, or that is impossible now, does nothing, so any part of a program is a program.
///
///   begin 3 0 1 2 space=1 priority=2 leave=1   # request 3 with its prompt; `leave`: tokens that it must compute
///   begin 4 0 1 2 keep=2 us=50                 # its first 2 tokens are to stay for 50 us after its end
///   reserve 3 9 soon=4      # pages for its first 9 tokens, in groups with a reach only for the first 4
///   append 3 0 1            # more tokens
///   advance 3 4             # its first 4 tokens are computed
///   commit 3 8              # the same, and the whole pages of them become reusable
///   finish 3 9              # its end; `finish 3 0`: nothing new becomes reusable
///   rematch 3               # it takes over what others have committed since
///   abort 3    retract 3    resume 3
///   serve 0 1 2 space=1 output=5 chunk=2 commits   # a whole request, if the engine admits it now
///   flush 1                 # everything of a namespace
///   policy full slru        # another policy for a group
///   resize full 40          # another limit for its pool, in pages, or `unlimited`
///   room full 6             # evicts until 6 pages are free
///   pin 4    unpin 0        # the 4th node of a walk, the oldest pin
///   poll
///   fetch 3 0 1 2 space=1   # copies what a tier below has for request 3, which begins later
///   turn 500                # 500 microseconds later: copies that have ended become visible
///   bring 0 1 2 space=1     # ends all requests; then what the storage says it has of a prompt has to come
///   share ax 40 pins=16 ceiling=90   # another share for a tenant; 40: its floor, in tokens
///   flush_unknown           # a namespace that no call of intern() returned
///   reopen hash_chain       # ends the engine; another one, with this index, has the same storage from then on
///   fork                    # a child destroys its copy of the engine, and stays until the engine ends
/// and, for the components around those of the engine and its memory:
///   refuse_pages full 2     # the second allocation from now in the group finds no page
///   refuse_memory full 1    # the next segment of the group's store finds no memory
///   refuse_insert 3         # the third insert from now stores nothing, as without memory
///   refuse_remap 1          # the next relocation is not possible, for want of memory
///   refuse_new 40 times=3   # the 40th allocation of the engine from now and the next two find no memory
///   lie full twice 1        # a component lies once (faulty.h). The program must end with a violation
enum class Verb : std::uint8_t {
  begin,
  serve,
  reserve,
  append,
  advance,
  commit,
  rematch,
  finish,
  abort,
  retract,
  resume,
  flush,
  policy,
  resize,
  room,
  pin,
  unpin,
  poll,
  fetch,
  turn,
  bring,
  share,
  flush_unknown,
  reopen,
  fork,
  refuse_pages,
  refuse_memory,
  refuse_insert,
  refuse_remap,
  refuse_new,
  lie,
};
inline constexpr std::size_t kVerbs = static_cast<std::size_t>(Verb::lie) + 1;

struct Operation {
  Verb verb{};
  bool commits = false;
  std::uint32_t group = 0, space = 0, leave = 0, output = 0, chunk = 0;
  std::int32_t priority = 0;
  std::uint64_t request = 0;
  std::uint64_t count = 0;  ///< last number of a line: tokens, pages, calls, the place of a node
  std::uint64_t soon = 0;
  std::uint32_t keep = 0;               ///< tokens to retain
  std::uint64_t us = 0;                 ///< microseconds for which they are to stay
  std::uint64_t pins = 0, ceiling = 0;  ///< values of a share; ceiling 0: none
  std::uint64_t times = 0;
  std::string name;  ///< name of a policy, a tenant, an index or a lie
  std::vector<Token> tokens;
};

/// Most tokens that a number in a line may stand for.
inline constexpr std::uint64_t kMostTokens = 1'000'000;

/// Returns the operation as a line. `groups`: names of the groups, in the order of the engine.
std::string text_of(const Operation& operation, std::span<const std::string> groups);
/// Parses a line. Throws a test::Mismatch with the reason if it cannot.
Operation operation_of(std::string_view line, std::span<const std::string> groups);

}  // namespace canopy::check
