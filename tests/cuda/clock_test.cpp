// SPDX-License-Identifier: Apache-2.0
// What `validate` asks of the CUDA backend: a clock beside every op, weights that several decoders share, filled
// caches.
#include <cmath>
#include <set>

#include "tests/cuda/rig.h"
#include "tests/emulator/emulator.h"

using namespace draftline;
using namespace draftline::test;

namespace {

const CudaBackend::Options kTimed{.seed = 1};

std::size_t allocated() { return emulator::counts().allocated; }

}  // namespace

TEST_CASE("a clock beside every op tells each of them once, and changes no token", "[cuda]") {
  emulator::reset();
  CudaRig plain(kDraftsOfTheTarget, kTimed, 2), clocked(kDraftsOfTheTarget, kTimed, 2);
  for (CudaRig* rig : {&plain, &clocked}) {
    rig->decoder.generator.join(prompts(2, 3), {0, 1});
    for (int i = 0; i < 3; ++i) rig->decoder.generator.step();
  }
  const long graphs = clocked.cuda().counts().graph_launches;
  REQUIRE(graphs > 0);
  std::vector<const Tape*> tapes;
  std::size_t ops = 0;
  clocked.decoder.ops.on_segment = [&](const SegmentRun& run) {
    for (const Op& op : run.tape->ops) ops += !std::holds_alternative<Upload>(op);
    tapes.push_back(run.tape);
  };
  std::set<std::pair<const Tape*, std::size_t>> timed;
  std::size_t times = 0;
  clocked.cuda().on_op = [&](const Tape& tape, std::size_t op, Seconds t) {
    timed.emplace(&tape, op);
    ++times;
    CHECK(t.value >= 0);
    CHECK(std::find(tapes.begin(), tapes.end(), &tape) != tapes.end());
  };
  CHECK(plain.decoder.generator.step() == clocked.decoder.generator.step());
  CHECK(plain.decoder.generator.session().text == clocked.decoder.generator.session().text);
  CHECK(times == ops);
  CHECK(timed.size() == ops);
  CHECK(clocked.cuda().counts().graph_launches == graphs);
  clocked.cuda().on_op = nullptr;
  clocked.decoder.ops.on_segment = nullptr;
  CHECK(clocked.cuda().event_time().value >= 0);
  CHECK(plain.decoder.generator.step() == clocked.decoder.generator.step());
  CHECK(clocked.cuda().counts().graph_launches > graphs);
  CHECK(times == ops);
}

TEST_CASE("shared weights are made once, and go with their last user", "[cuda]") {
  emulator::reset();
  const auto text_of = [](CudaRig& rig) { return rig.run(prompts(2, 3), {6, {}, 2}).back().tokens; };
  const auto shared = cuda::share_weights();
  CudaBackend::Options o = kTimed;
  o.shared = shared;
  const std::size_t before = allocated();
  {
    CudaRig first(kDraftsOfTheTarget, o, 2);
    const auto text = text_of(first);
    const std::size_t one = allocated() - before;
    {
      CudaRig second(kDraftsOfTheTarget, o, 2);
      CHECK(text_of(second) == text);
      const std::size_t two = allocated() - before;
      CudaRig own(kDraftsOfTheTarget, kTimed, 2);
      CHECK(text_of(own) == text);
      const std::size_t another = allocated() - before - two;
      CHECK(two - one + static_cast<std::size_t>(first.decoder.weights.bytes().value) <= another);
    }
    cuda::drop_unused(*shared);
    CHECK(allocated() - before == one);  // the first still has them
    // Plain decoding has the target's alone: what the drafter had goes.
    CudaRig target({"autoregressive", ""}, o, 2);
    text_of(target);
  }
  CHECK(allocated() > before);
  cuda::drop_unused(*shared);
  CHECK(allocated() == before);
}

TEST_CASE("a filled cache holds numbers wherever nothing was written", "[cuda]") {
  emulator::reset();
  CudaBackend::Options o = kTimed;
  o.filled = true;
  CudaRig rig({"autoregressive", ""}, o, 2);
  Generator& g = rig.decoder.generator;
  g.join(prompts(2, 2), {0, 1});
  g.assume_length(150);  // of fresh memory, which the emulator makes NaN
  Ops& ops = rig.decoder.ops;
  const Session& s = g.session();
  Stream x{ops.embed(rig.decoder.target.embedding, s.root)};
  rig.decoder.target.run(ops, x, ops.pass({ops.uniform(2, 1), s.slots}));
  const Tensor y = rig.decoder.target.final_norm(ops, x), kept = ops.persistent("kept", y.rows, y.cols, DType::bf16);
  ops.store(kept, y);
  ops.flush();
  for (const float v : rig.cuda().read_floats(kept)) CHECK(std::isfinite(v));
}
