#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace canopy::test {

/// Runs a scenario. Returns its mistakes, one line each as `file:line: ...`; nothing if all holds.
///
///   engine page_size=4 capacity=8                     # the world; also options={...}, policy, overlap, ...
///   insert 1 2 3 4  5..8           -> had 0           # 5..8: 5 6 7 8
///   match  as=a 1 2 3 4            -> 4               # keeps the lock under the name a
///   insert below=a as=b 1 2 3 4 9 9 9 9 -> had 4, spare 0
///   evict  1                       -> 1 page
///   release b
///   state                          -> evictable 8, nodes 2, waiting 1, free 5, refused 0
///   tree                           -> 0..4 4..8       # the nodes: where they begin and end
///
/// Words can be grouped in any way. The text behind -> is compared with the answer, and nothing else of the answer is.
/// The models check every line besides.
///
/// An engine with several KV cache groups names them, each with its reach, its capacity in pages and its policy where
/// they differ from the whole path and from the engine's. Answers of a group carry its name:
///
///   engine page_size=1 groups=full,window:4:16:slru capacity=32
///   insert as=a 1..8 window.from=2 -> had 0, full.spare 0, window.spare 0, length 8   # the window lacks 1 2
///   match  1..8                    -> 8, window.from 4, window.pages 0 0 0 0 3 4 5 6  # the lock begins at depth 4
///   relax  a window 6              -> window.from 6
///   evict  window 2                -> 2 pages, window.left 3 4, full.left none        # by the words of the pages
///   tree                           -> 0..2:full 2..4:full 4..8                        # groups, where not all
///   state                          -> window.evictable 2, window.protected 2, window.free 12, window.waiting 1
///
/// Namespaces belong to tenants, and each tenant may have its own policy. A kept lock protects nothing; its units are
/// counted:
///
///   assign in=1 of=2                                  # namespace 1 to tenant 2
///   evict  of=2 most=3 3           -> 3 pages, nodes 2 # of tenant 2, at most 3 pages: a longer node is cut
///   policy of=2 to=fifo                               # without `to`: the policy of the group
///   keep   a                       -> 4               # units that were not kept before
///   unkeep a                       -> 4
///
/// The words of a line: tests/program/operation.h. `requests` instead of `engine` is an Engine with requests:
/// request_world.h. With `words=pages` each word stands for a page of words, and depths, lengths and reaches are in
/// pages. A second line `engine` or `requests` begins another world.
///
/// Lines in front of all others repeat the scenario for each combination of values. Expectations of a group that one of
/// these worlds lacks are passed over in it:
///
///   with page=1 4 16
///   with groups=full full,window:2
///   engine page_size=$page groups=$groups words=pages
std::vector<std::string> run_scenario(const std::filesystem::path& file);
std::vector<std::string> run_scenario(const std::string& text, const std::string& name);

}  // namespace canopy::test
