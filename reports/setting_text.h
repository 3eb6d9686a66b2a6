// SPDX-License-Identifier: Apache-2.0
// How an engine is started with what `advise` recommends: the command with one fixed draft length, and where the
// engine's version takes them, lengths by batch as an option with its price.
#pragma once
#include <string>

#include "core/json_writer.h"
#include "sim/advice.h"

namespace draftline {

// Lines of text: the best draft lengths by batch, of each prompt length where they differ, and the engine's command.
std::string schedule_text(const Scenario&, const Advice&);
// The engine's command alone; "" where there is none.
std::string launch_line(const Scenario&, const Advice&);
// The command that starts an engine with the method of a point; "" of plain decoding, and where none is known.
std::string launch_line(const Scenario&, const Point&);
// The members "settings" and "vllm_limits" of a verdict in JSON.
void write_settings(JsonWriter&, const Scenario&, const Advice&);

}  // namespace draftline
