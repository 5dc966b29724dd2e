#pragma once
/// A policy in words, for the inspector, `canopy top` and reports. The reader of a feed formats ranks in another
/// process than that of the policy, so the policy supplies a template.

namespace canopy {

/// Texts that are valid as long as the policy. Empty: a rank is shown as its two numbers.
struct PolicyText {
  /// A clause that names the nodes evicted first: "the least recently used node is evicted first".
  const char* rule = "";
  /// A template for ranks with {major} and {minor}: "hits: {major}, used {minor:ago}" gives "hits: 2, used 40 ticks
  /// ago". A format may follow a colon:
  ///
  ///   {minor:ago}               a tick, as its distance from now
  ///   {minor:~ago}              the complement of a tick, as the distance of the tick from now
  ///   {major:signed}            a number that counts from INT32_MIN
  ///   {major:real}              the bits of a positive double
  ///   {major:number}            any double, mapped so that the bits compare as the numbers do: all bits of a negative
  ///                             number are inverted, and the top bit of any other
  ///   {major:no|yes}            one of these words, by value; the last one for all larger values
  ///   {minor.0-1:once|twice}    the same for some of the bits; bit 0 is the lowest
  const char* rank = "";
};

}  // namespace canopy
