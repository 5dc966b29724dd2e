#pragma once
/// A policy in words, for the inspector, `canopy top` and reports. A rank is put into words by the reader of a feed, in
/// another process than the policy, so the words travel as a template.

namespace canopy {

/// The strings live as long as the policy. Empty strings: the rank is shown as its two numbers.
struct PolicyText {
  /// A clause that names the nodes evicted first: "what was used longest ago is evicted first".
  const char* rule = "";
  /// A template for ranks with {major} and {minor}: "hits: {major}, used {minor:ago}" gives "hits: 2, used 40 ticks
  /// ago". A format may follow a colon:
  ///
  ///   {minor:ago}               a tick, as its distance from now
  ///   {minor:~ago}              the complement of a tick, likewise
  ///   {major:signed}            a number that counts from INT32_MIN
  ///   {major:real}              the bits of a positive double
  ///   {major:number}            any double, mapped so that the words compare as the numbers do: if it is negative all
  ///                             bits are inverted, otherwise the top bit is
  ///   {major:no|yes}            one of these words, by value; the last one for all larger values
  ///   {minor.0-1:once|twice}    the same for some of the bits; bit 0 is the lowest
  const char* rank = "";
};

}  // namespace canopy
