// SPDX-License-Identifier: Apache-2.0
// The values of a file that holds one JSON document, an array of documents, or a document a line, perhaps with the
// "data: " of a stream of events in front.
#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/reader.h"

namespace draftline {

// The documents of a text: one, or one a line, as in a file *.jsonl. None if the text does not begin as JSON and the
// file is not named *.json. Throws InputErrors where JSON is
// not well-formed.
std::vector<Document> json_documents(std::string_view text, const std::filesystem::path& file);
std::vector<Reader> json_values(const std::vector<Document>&);  // of an array its elements
std::string parquet_hint(const std::filesystem::path&);         // names a program that converts the file

}  // namespace draftline
