#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace canopy {

// Format numbers for people, in the same way in every command and panel.

std::string grouped(std::uint64_t number);                        ///< 144,793,823
std::string plural(std::uint64_t number, std::string_view noun);  ///< 1 request, 12,031 requests
std::string brief(double number);                                 ///< 812, 41.2 k, 3.0 M: for narrow columns
std::string bytes(std::uint64_t number);                          ///< 397.1 MiB
std::string percent(double share);                                ///< 13.99 %
std::string percent(std::uint64_t part, std::uint64_t whole);     ///< 36.2 %; "-" if `whole` is 0
std::string seconds(double seconds);                              ///< 1.84 s, 68.2 ms, 340 ns: for measurements
std::string duration(double seconds);                             ///< as seconds(); then 3 min 20 s, 2 h 5 min

}  // namespace canopy
