// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/ngram_window.h"

#include <algorithm>

#include "core/int_indexed.h"
#include "core/rng.h"

namespace draftline::methods {

// ---- the pool

void NgramPool::add(int key, Ngram ngram) {
  auto& known = of_key_[key];
  std::erase(known, ngram);
  known.push_front(std::move(ngram));
  if (known.size() > most_) known.pop_back();
}

std::vector<Ngram> NgramPool::newest(int key, int most) const {
  const auto it = of_key_.find(key);
  if (it == of_key_.end()) return {};
  return {it->second.begin(), it->second.begin() + std::min(count(it->second), most)};
}

void NgramPool::add_agreed(std::span<const int> drafts, std::span<const int> said, int from, int length) {
  const auto n = at(length);
  for (auto i = at(from); i + n <= drafts.size(); ++i) {
    const auto ngram = said.subspan(i, n), next = drafts.subspan(i + 1, n - 1);
    if (std::equal(next.begin(), next.end(), ngram.begin())) add(drafts[i], {ngram.begin(), ngram.end()});
  }
}

void NgramPool::correct(int key, const Ngram& known, Ngram better) {
  if (known == better) return;
  const auto of_key = of_key_.find(key);
  if (of_key == of_key_.end()) return;
  auto& all = of_key->second;
  const auto it = std::find(all.begin(), all.end(), known);
  if (it == all.end()) return;
  if (std::find(all.begin(), all.end(), better) != all.end()) all.erase(it);
  else *it = std::move(better);
}

// ---- the window

TokenTree window_rows(const WindowShape& w, int before, int guesses) {
  std::vector<int> above;
  for (int r = -1; r < before; ++r) above.push_back(r);
  std::vector<bool> node(above.size(), true);
  for (int c = 1; c < w.columns; ++c) above.push_back(before + c - 1);
  for (int level = 1; level < w.ngram - 1; ++level)
    for (int c = 0; c < w.columns; ++c) above.push_back(before + (level - 1) * w.columns + c);
  node.resize(above.size(), false);
  for (int k = 0; k < guesses; ++k)
    for (int j = 0; j < w.ngram - 1; ++j) {
      above.push_back(j == 0 ? before : count(above) - 1);
      node.push_back(true);
    }
  return TokenTree(std::move(above), node);
}

NgramWindow::NgramWindow(const WindowShape& w, const std::vector<int>& text) {
  for (int level = 0; level < w.ngram - 1; ++level) {
    levels_.emplace_back();
    for (int c = level == 0 ? 1 : 0; c < w.columns; ++c) {
      const double u = uniform_at(0, text.size(), at(level), at(c));
      levels_.back().push_back(text.empty() ? 0 : text[at(static_cast<int>(u * count(text)))]);
    }
  }
}

std::vector<int> NgramWindow::tokens() const {
  std::vector<int> all;
  for (const auto& level : levels_) all.insert(all.end(), level.begin(), level.end());
  return all;
}

void NgramWindow::advance(int root, std::span<const int> outputs, NgramPool& pool) {
  for (std::size_t c = 0; c < outputs.size(); ++c) {
    Ngram ngram;
    for (std::size_t level = 1; level < levels_.size(); ++level) ngram.push_back(levels_[level][c]);
    ngram.push_back(outputs[c]);
    pool.add(c == 0 ? root : levels_[0][c - 1], std::move(ngram));
  }
  levels_[0].assign(levels_[1].begin() + 1, levels_[1].end());
  for (std::size_t level = 1; level + 1 < levels_.size(); ++level) levels_[level] = levels_[level + 1];
  levels_.back().assign(outputs.begin(), outputs.end());
}

}  // namespace draftline::methods
