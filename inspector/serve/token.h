#pragma once

#include <string>
#include <string_view>

namespace canopy::inspector {

/// Returns a new secret of 32 hexadecimal digits from OpenSSL's random numbers. Throws if there are none.
std::string make_token();
/// Returns true if the texts are equal and not empty. The time depends only on their lengths, so that a client cannot
/// guess the secret digit by digit.
bool same_token(std::string_view secret, std::string_view given);

}  // namespace canopy::inspector
