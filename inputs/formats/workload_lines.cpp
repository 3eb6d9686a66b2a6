// SPDX-License-Identifier: Apache-2.0
#include "inputs/formats/workload_lines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace draftline {

namespace {

using Json = nlohmann::json;

const Json& object_at(const Json& in, const char* key, const FailLine& fail) {
  const auto found = in.find(key);
  if (found == in.end() || !found->is_object()) fail("\"" + std::string(key) + "\" is missing or not an object");
  return *found;
}

double figure(const Json& in, const char* key, const FailLine& fail) {
  const auto found = in.find(key);
  if (found == in.end() || !found->is_number()) fail("\"" + std::string(key) + "\" is missing or not a number");
  return found->get<double>();
}

std::int64_t tokens(const Json& in, const char* key, const FailLine& fail) {
  const double n = figure(in, key, fail);
  if (n != std::floor(n) || std::abs(n) > 1e15) fail("\"" + std::string(key) + "\" is not a whole number");
  return static_cast<std::int64_t>(n);
}

// Mooncake's traces, in milliseconds.
std::optional<RequestLine> read_mooncake(const Json& line, const FailLine& fail) {
  constexpr double kMillisecond = 1e-3;
  return RequestLine{kMillisecond * figure(line, "timestamp", fail), tokens(line, "input_length", fail),
                     tokens(line, "output_length", fail)};
}

std::optional<RequestLine> read_vllm_log(const Json& line, const FailLine& fail) {
  return RequestLine{figure(line, "arrival_time", fail), tokens(line, "input_toks", fail),
                     tokens(line, "output_toks", fail)};
}

// AIPerf's profile_export.jsonl.
std::optional<RequestLine> read_aiperf(const Json& line, const FailLine& fail) {
  constexpr double kNanosecond = 1e-9;
  if (const auto error = line.find("error"); error != line.end() && !error->is_null()) return std::nullopt;
  const Json &metadata = object_at(line, "metadata", fail), &metrics = object_at(line, "metrics", fail);
  return RequestLine{kNanosecond * figure(metadata, "request_start_ns", fail),
                     tokens(object_at(metrics, "input_sequence_length", fail), "value", fail),
                     tokens(object_at(metrics, "output_sequence_length", fail), "value", fail)};
}

// The text of a message: a string, or a list of parts.
std::int64_t text_tokens(const Json& content) {
  if (content.is_string()) return estimated_tokens(content.get_ref<const std::string&>());
  std::int64_t sum = 0;
  if (content.is_array())
    for (const Json& part : content)
      if (part.is_object() && part.contains("text")) sum += text_tokens(part["text"]);
  return sum;
}

// A request of OpenAI's batch interface, as a file for it has them.
std::optional<RequestLine> read_batch_request(const Json& line, const FailLine& fail) {
  const Json& body = object_at(line, "body", fail);
  RequestLine r;
  if (const auto messages = body.find("messages"); messages != body.end() && messages->is_array()) {
    for (const Json& message : *messages)
      if (message.is_object() && message.contains("content")) r.prompt += text_tokens(message["content"]);
  } else if (body.contains("prompt")) {
    r.prompt = text_tokens(body["prompt"]);
  } else {
    fail("\"body\" has neither \"messages\" nor \"prompt\"");
  }
  const auto* most = body.contains("max_completion_tokens") ? "max_completion_tokens" : "max_tokens";
  if (!body.contains(most))
    fail("\"body\" has neither \"max_tokens\" nor \"max_completion_tokens\": its output is unknown");
  r.output = tokens(body, most, fail);
  return r;
}

// A response of OpenAI's batch interface, which counts tokens.
std::optional<RequestLine> read_batch_response(const Json& line, const FailLine& fail) {
  const Json& response = line["response"];
  if (!response.is_object()) return std::nullopt;
  if (const auto status = response.find("status_code"); status != response.end() && *status != 200) return std::nullopt;
  const Json& usage = object_at(object_at(response, "body", fail), "usage", fail);
  return RequestLine{std::nullopt, tokens(usage, "prompt_tokens", fail), tokens(usage, "completion_tokens", fail)};
}

constexpr std::string_view kBatchNote =
    "prompts are estimated from their text, as 4 bytes a token, and outputs are \"max_tokens\", the most that they can "
    "be; the file of responses counts both";

}  // namespace

const std::string_view kEstimateNote =
    "lengths are estimated from the text, as 4 bytes a token, which is usual for English; other languages and code "
    "differ";

std::int64_t estimated_tokens(std::string_view text) {
  constexpr std::size_t kBytesPerToken = 4;  // a guess, which the notes name
  return static_cast<std::int64_t>((text.size() + kBytesPerToken - 1) / kBytesPerToken);
}

std::span<const LineFormat> workload_lines() {
  static constexpr std::array<LineFormat, 5> table{{
      {"timestamp", "Mooncake", read_mooncake},
      {"arrival_time", "a log of vLLM", read_vllm_log},
      {"metadata", "AIPerf's records", read_aiperf, true},
      {"body", "requests of OpenAI's batch interface", read_batch_request, false, kBatchNote},
      {"response", "responses of OpenAI's batch interface", read_batch_response},
  }};
  return table;
}

}  // namespace draftline
