// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/suffix_tree.h"

#include <algorithm>

#include "core/int_indexed.h"

namespace draftline::methods {

void SuffixTree::extend(int sequence, std::span<const int> tokens) {
  Text& text = texts_[sequence];
  for (const int token : tokens) append(sequence, text, token);
}

void SuffixTree::append(int sequence, Text& text, int token) {
  text.tokens.push_back(token);
  text.growing.push_back(&root_);
  if (count(text.growing) > max_depth_) text.growing.pop_front();
  int depth = count(text.growing);  // of the suffix once it has the token
  for (Node*& suffix : text.growing) suffix = step(suffix, depth--, sequence, text, token);
}

// The node of a suffix that grows by `token` to `depth` tokens.
SuffixTree::Node* SuffixTree::step(Node* from, int depth, int sequence, const Text& text, int token) {
  if (from->lone) return from;  // the text says how it goes on
  auto& child = from->children[token];
  if (!child) {
    child = std::make_unique<Node>();
    child->lone = true;
    child->there = {sequence, count(text.tokens)};
  } else if (child->lone) {
    spell_out(*child, depth);
  }
  ++child->count;
  return child.get();
}

// A string that occurs again: where it occurred first is one of its children from now on.
void SuffixTree::spell_out(Node& node, int depth) {
  node.lone = false;
  const auto [sequence, next] = node.there;
  Text& text = texts_.at(sequence);
  const int size = count(text.tokens), growing = count(text.growing);
  if (next == size || depth == max_depth_) return;
  auto& child = node.children[text.tokens[at(next)]];
  child = std::make_unique<Node>();
  child->count = 1;
  child->lone = true;
  child->there = {sequence, next + 1};
  const int index = next - depth - (size - growing);  // of the suffix that starts there
  if (index >= 0) text.growing[at(index)] = child.get();
}

void SuffixTree::remove(int sequence) {
  const auto known = texts_.find(sequence);
  if (known == texts_.end()) return;
  const std::span<const int> tokens = known->second.tokens;
  for (std::size_t start = 0; start < tokens.size(); ++start) {
    Node* node = &root_;
    for (const int token : tokens.subspan(start, std::min(tokens.size() - start, at(max_depth_)))) {
      if (node->lone) break;
      const auto child = node->children.find(token);
      if (--child->second->count == 0) {
        node->children.erase(child);
        break;
      }
      node = child->second.get();
    }
  }
  texts_.erase(known);
}

const int* SuffixTree::lone_token(const Place& p) const {
  const auto& tokens = texts_.at(p.node->there.sequence).tokens;
  const auto next = at(p.node->there.next + p.beyond);
  return next < tokens.size() ? &tokens[next] : nullptr;
}

bool SuffixTree::follow(Place& p, int token) const {
  if (p.node->lone) {
    const int* next = lone_token(p);
    ++p.beyond;
    return next != nullptr && *next == token;
  }
  const auto child = p.node->children.find(token);
  if (child == p.node->children.end()) return false;
  p.node = child->second.get();
  return true;
}

SuffixDraft SuffixTree::continuation(Place place, int match, const SuffixLimits& limits) const {
  constexpr double kRounding = 1e-6;
  const auto most = std::min(
      {limits.max_spec_tokens, static_cast<int>(match * limits.max_spec_factor + kRounding), max_depth_ - match});
  SuffixDraft draft;
  double probability = 1;
  while (count(draft.tokens) < most) {
    int token = 0;
    if (place.node->lone) {
      const int* next = lone_token(place);
      if (next == nullptr) break;
      token = *next;
    } else {
      const auto& children = place.node->children;
      const auto best = std::max_element(children.begin(), children.end(), [](const auto& a, const auto& b) {
        return a.second->count < b.second->count;
      });
      if (best == children.end()) break;
      token = best->first;
      probability *= 1.0 * best->second->count / place.node->count;
    }
    if (probability < limits.min_token_prob) break;
    draft.tokens.push_back(token);
    draft.score += probability;
    follow(place, token);
  }
  return draft;
}

SuffixDraft SuffixTree::speculate(std::span<const int> context, const SuffixLimits& limits) const {
  SuffixDraft best;
  const int longest = std::min(count(context), max_depth_);
  for (int match = 1; match <= longest; ++match) {
    Place place{&root_};
    const auto end = context.last(at(match));
    if (!std::all_of(end.begin(), end.end(), [&](int token) { return follow(place, token); })) break;
    SuffixDraft draft = continuation(place, match, limits);
    if (draft.score >= best.score) best = std::move(draft);
  }
  return best;
}

}  // namespace draftline::methods
