// SPDX-License-Identifier: Apache-2.0
#include "cli/deal.h"

#include <algorithm>
#include <vector>

#include "cli/interruptible.h"
#include "core/build_info.h"
#include "core/fingerprint.h"
#include "core/packed.h"

namespace draftline::cli {

namespace {

struct Asking {
  std::uint64_t question;
  bool interrupted;
};

}  // namespace

std::optional<std::size_t> Deal::next() {
  const std::lock_guard lock(mutex_);
  if (stopped_ || Interruptible::asked() || next_ >= to_) return std::nullopt;
  return next_++;
}

std::uint64_t question_id(const InputFiles& files, std::uint64_t option) {
  std::vector<std::uint64_t> contents;  // without names, which may differ between machines
  for (const auto& [file, fingerprint] : files) contents.push_back(fingerprint);
  std::sort(contents.begin(), contents.end());
  Fingerprint all;
  all.add(build_model());
  all.add(option);
  for (const std::uint64_t one : contents) all.add(one);
  return all.value();
}

void deal_out(const Ranks& ranks, std::uint64_t question, Deal& deal,
              const std::function<void(std::size_t, std::string_view)>& put) {
  using About = Ranks::About;
  std::vector<bool> is_done(ranks.size());
  for (std::size_t done = 0; done + 1 < ranks.size();) {
    const auto message = ranks.receive_unless([&] { return deal.stopped(); });
    if (!message) return;
    const Ranks::Message& m = *message;
    switch (m.about) {
      case About::ask: {
        const auto asking = unpack<Asking>(m.bytes);
        if (asking.question != question)
          throw InputErrors("rank " + std::to_string(m.from) +
                            " reads other files than rank 0, has other options, or is another draftline");
        if (asking.interrupted) Interruptible::ask_too();
        ranks.send(m.from, About::piece, pack(deal.next()));
        break;
      }
      case About::result: {
        packed::Source result(m.bytes);
        const auto piece = result.taken<std::size_t>();
        put(piece, std::string_view(m.bytes).substr(sizeof piece));
        break;
      }
      case About::done:
        is_done[m.from] = true;
        ++done;
        break;
      case About::ended:
        if (auto ending = unpack<Ending>(m.bytes); !ending.messages.empty()) throw RankFailed(std::move(ending));
        if (!is_done[m.from])
          throw InputErrors("rank " + std::to_string(m.from) + " was started with another command line");
        break;
      default: check(false, "a message that rank 0 sends");
    }
  }
}

std::optional<std::size_t> ask_for_piece(const Ranks& ranks, std::uint64_t question) {
  ranks.send(0, Ranks::About::ask, pack(Asking{question, Interruptible::asked()}));
  const Ranks::Message answer = ranks.receive();
  if (answer.about == Ranks::About::stop) throw InputErrors("rank 0 was started with another command line");
  return unpack<std::optional<std::size_t>>(answer.bytes);
}

}  // namespace draftline::cli
