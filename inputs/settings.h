// SPDX-License-Identifier: Apache-2.0
// Values that replace those of a scenario (`--set`), as "batch_size=8" and "workload.arrivals.rate=20 /s": the keys of
// objects and the numbers of elements that lead to a value, separated by points, or a JSON pointer; behind "=" JSON, or
// a text without quotes.
#pragma once
#include <string>
#include <vector>

namespace draftline {

// The text of a scenario with these values, in order. Missing objects on the way to a value are made. Throws
// InputErrors with each setting that is wrong or finds no place. A text that is no JSON is returned as it is.
std::string with_settings(const std::string& scenario, const std::vector<std::string>& settings);

// Messages, of which those about a value of a setting name it:
// "s.json#/batch_size: must be at least 1, got 0 (--set batch_size=0)".
std::vector<std::string> naming_settings(std::vector<std::string> messages, const std::vector<std::string>& settings);

}  // namespace draftline
