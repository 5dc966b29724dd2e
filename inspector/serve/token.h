#pragma once

#include <string>
#include <string_view>

namespace canopy::inspector {

/// Returns a new secret of 32 hexadecimal digits from the system's random numbers. Waits until the system has some,
/// shortly after it was started.
std::string make_token();
/// Returns true if the texts are equal. The time depends only on the length of `given`, so that a client cannot guess
/// the secret digit by digit.
bool same_token(std::string_view secret, std::string_view given);

}  // namespace canopy::inspector
