// SPDX-License-Identifier: Apache-2.0
// One block of threads as fibers (Boost.Context): a thread runs until it must wait for others, in an order that a seed
// shuffles, so that a missing barrier shows. A thread that never waits costs a function call.
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/preallocated.hpp>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/emulator/run_grid.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulator {

namespace {

namespace context = boost::context;
#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kStack = 512 * 1024;
#else
constexpr std::size_t kStack = 128 * 1024;
#endif

// Where a switch goes to and comes from, for AddressSanitizer.
struct Side {
  const void* bottom = nullptr;
  std::size_t size = 0;
};
void leaving([[maybe_unused]] void** saved, [[maybe_unused]] const Side& to) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(saved, to.bottom, to.size);
#endif
}
void arrived([[maybe_unused]] void* saved, [[maybe_unused]] Side* from) {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(saved, from ? &from->bottom : nullptr, from ? &from->size : nullptr);
#endif
}

struct Thread {
  uint3 index;
  enum class State { fresh, ready, barrier, meeting, done } state = State::fresh;
  int worker = -1;
  int lane = 0;
  const char* meeting = nullptr;  // what it waits in
};

// Threads of a warp that wait for each other: parts of it may be at different places.
struct Meeting {
  unsigned mask = 0, here = 0;
  const char* name = nullptr;
  void* brought[32] = {};
};
struct Warp {
  unsigned done = 0;  // lanes that have returned
  std::vector<Meeting> meetings;
};

struct Worker {
  context::stack_context stack;
  context::fiber fiber;
  int thread = -1;  // -1: idle
  void* fake = nullptr;
};

struct Dropped {};  // thrown in threads that still wait when their block has failed

struct Machine {
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<int> fresh, ready, idle;
  bool one_ahead = false;  // who became ready last goes on first: one warp runs as far as it can before the others
  const std::function<void()>* code = nullptr;
  int current = -1, live = 0, at_barrier = 0;
  context::fiber scheduler;
  Side scheduler_side;
  void* scheduler_fake = nullptr;
  std::exception_ptr failure;
  bool dropping = false;
  std::uint64_t random = 1;
  std::vector<unsigned char> shared;

  std::size_t below(std::size_t n) {  // xorshift64*
    random ^= random >> 12, random ^= random << 25, random ^= random >> 27;
    return static_cast<std::size_t>((random * 0x2545F4914F6CDD1DULL >> 33) % n);
  }
  template <class T>
  T take(std::vector<T>& from) {
    const std::size_t i = below(from.size());
    std::swap(from[i], from.back());
    const T t = from.back();
    from.pop_back();
    return t;
  }
};
Machine& machine() {
  static Machine& m = *new Machine;  // never destroyed: idle fibers wait in it
  return m;
}

void make_ready(Thread& t) {
  t.state = Thread::State::ready;
  machine().ready.push_back(static_cast<int>(&t - machine().threads.data()));
}

void release_barrier() {
  Machine& m = machine();
  if (m.at_barrier == 0 || m.at_barrier < m.live) return;
  const std::size_t n = m.threads.size(), first = m.below(n);
  for (std::size_t i = 0; i < n; ++i)
    if (Thread& t = m.threads[(first + i) % n]; t.state == Thread::State::barrier) make_ready(t);
  m.at_barrier = 0;
}

void finished(Thread& t) {
  t.state = Thread::State::done;
  machine().warps[static_cast<std::size_t>(machine().current) / 32].done |= 1U << t.lane;
  --machine().live;
  release_barrier();
}

// From a worker back to the scheduler, until it is resumed.
void yield(Worker& w) {
  Machine& m = machine();
  leaving(&w.fake, m.scheduler_side);
  m.scheduler = std::move(m.scheduler).resume();
  arrived(w.fake, nullptr);
}
void wait() {
  Machine& m = machine();
  const int me = m.current;
  Thread& t = m.threads[static_cast<std::size_t>(me)];
  yield(*m.workers[static_cast<std::size_t>(t.worker)]);
  threadIdx = t.index;
  m.current = me;
  if (m.dropping) throw Dropped{};
}

void work(Worker& w, int index) {
  Machine& m = machine();
  arrived(nullptr, &m.scheduler_side);
  for (;;) {
    while (!m.fresh.empty() && !m.failure) {
      w.thread = m.current = m.take(m.fresh);
      Thread& t = m.threads[static_cast<std::size_t>(w.thread)];
      t.worker = index;
      t.state = Thread::State::ready;
      threadIdx = t.index;
      try {
        (*m.code)();
      } catch (const Dropped&) {
      } catch (...) { m.failure = std::current_exception(); }
      finished(t);
    }
    w.thread = -1;
    m.idle.push_back(index);
    yield(w);
  }
}

void resume(int index) {
  Machine& m = machine();
  Worker& w = *m.workers[static_cast<std::size_t>(index)];
  leaving(&m.scheduler_fake, {static_cast<char*>(w.stack.sp) - w.stack.size, w.stack.size});
  w.fiber = std::move(w.fiber).resume();
  arrived(m.scheduler_fake, nullptr);
}

void start_worker() {
  Machine& m = machine();
  if (!m.idle.empty()) {
    const int index = m.idle.back();
    m.idle.pop_back();
    return resume(index);
  }
  const int index = static_cast<int>(m.workers.size());
  auto& w = m.workers.emplace_back(std::make_unique<Worker>());
  context::fixedsize_stack stacks(kStack);
  w->stack = stacks.allocate();
  struct Keep {  // the stack is freed with the worker
    void deallocate(context::stack_context&) const {}
  };
  Worker* worker = w.get();
  w->fiber = context::fiber(std::allocator_arg, context::preallocated(w->stack.sp, w->stack.size, w->stack), Keep{},
                            [worker, index](context::fiber&& back) {
                              machine().scheduler = std::move(back);
                              work(*worker, index);
                              return std::move(machine().scheduler);
                            });
  resume(index);
}

std::string name(const Thread& t) {
  return "thread " + std::to_string(t.index.x) + ", " + std::to_string(t.index.y) + ", " + std::to_string(t.index.z);
}

[[noreturn]] void stuck() {
  for (const Thread& t : machine().threads) {
    if (t.state == Thread::State::barrier) throw std::logic_error(name(t) + " waits at __syncthreads for ever");
    if (t.state == Thread::State::meeting)
      throw std::logic_error(name(t) + " waits in " + t.meeting + " for a thread of its mask that never comes");
  }
  throw std::logic_error("no thread can go on");
}

void run_block() {
  Machine& m = machine();
  m.failure = nullptr;
  m.fresh.clear();
  m.ready.clear();
  m.at_barrier = 0;
  m.one_ahead = m.below(2) == 0;
  m.live = static_cast<int>(m.threads.size());
  m.warps.assign((m.threads.size() + 31) / 32, {});
  for (std::size_t i = 0; i < m.threads.size(); ++i) {
    m.threads[i].state = Thread::State::fresh;
    m.threads[i].lane = static_cast<int>(i % 32);
    m.fresh.push_back(static_cast<int>(i));
  }
  std::fill(m.shared.begin(), m.shared.end(), static_cast<unsigned char>(0xff));
  while (m.live > 0 && !m.failure) {
    const bool old = !m.ready.empty() && (m.fresh.empty() || m.below(2) == 0);
    if (old) {
      if (!m.one_ahead) std::swap(m.ready[m.below(m.ready.size())], m.ready.back());
      const int t = m.ready.back();
      m.ready.pop_back();
      resume(m.threads[static_cast<std::size_t>(t)].worker);
    } else if (!m.fresh.empty()) {
      start_worker();
    } else {
      try {
        stuck();
      } catch (...) { m.failure = std::current_exception(); }
    }
  }
  if (m.failure) {
    m.dropping = true;
    for (const Thread& t : m.threads)
      if (t.state != Thread::State::fresh && t.state != Thread::State::done) resume(t.worker);
    m.dropping = false;
    m.current = -1;
    std::rethrow_exception(std::exchange(m.failure, nullptr));
  }
}

}  // namespace

void* dynamic_shared() { return machine().shared.data(); }

int lane() { return machine().current % 32; }

void sync_threads() {
  Machine& m = machine();
  m.threads[static_cast<std::size_t>(m.current)].state = Thread::State::barrier;
  ++m.at_barrier;
  release_barrier();
  wait();
}

void collective(const char* what, unsigned mask, void* mine, void (*all)(void* const*)) {
  Machine& m = machine();
  Thread& me = m.threads[static_cast<std::size_t>(m.current)];
  if ((mask >> lane() & 1U) == 0) throw std::logic_error(name(me) + " calls " + what + " with a mask without itself");
  me.meeting = what;
  me.state = Thread::State::meeting;
  const std::size_t first = static_cast<std::size_t>(m.current) / 32 * 32;
  Warp& warp = m.warps[first / 32];
  if ((mask & warp.done) != 0)
    throw std::logic_error(name(me) + " waits in " + what + " for a thread that has returned");
  const unsigned there = first + 32 <= m.threads.size() ? 0xffffffffU : (1U << (m.threads.size() - first)) - 1;
  Meeting* at = nullptr;
  for (Meeting& other : warp.meetings) {
    if (other.here == 0 || (other.mask & mask) == 0) continue;
    if (other.mask != mask || (other.name != what && std::string_view(other.name) != what))
      throw std::logic_error(name(me) + " calls " + what + " while others of its warp call " + other.name);
    at = &other;
  }
  if (at == nullptr) {
    for (Meeting& other : warp.meetings)
      if (other.here == 0) at = &other;
    if (at == nullptr) at = &warp.meetings.emplace_back();
    *at = {mask, 0, what, {}};
  }
  at->here |= 1U << me.lane;
  at->brought[me.lane] = mine;
  if (at->here == (mask & there)) {  // the last to come
    all(at->brought);
    at->here = 0;
    for (std::size_t i = 0; i < 32 && first + i < m.threads.size(); ++i)
      if (mask >> i & 1U) make_ready(m.threads[first + i]);
  }
  wait();
}

void shuffle(std::uint64_t seed) { machine().random = seed * 2 + 1; }

void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& thread) {
  Machine& m = machine();
  if (m.current >= 0) throw std::logic_error("a kernel inside of a kernel");
  gridDim = grid;
  blockDim = block;
  m.threads.clear();
  for (unsigned z = 0; z < block.z; ++z)
    for (unsigned y = 0; y < block.y; ++y)
      for (unsigned x = 0; x < block.x; ++x) {
        m.threads.emplace_back();
        m.threads.back().index = {x, y, z};
      }
  m.shared.resize(shared_bytes);
  m.shared.shrink_to_fit();  // one past its end is seen
  m.code = &thread;
  struct Done {
    ~Done() { machine().current = -1; }
  } done;
  const unsigned n = grid.x * grid.y * grid.z, first = static_cast<unsigned>(m.below(n));
  for (unsigned i = 0; i < n; ++i) {  // blocks in another order than their numbers'
    const unsigned b = (first + i) % n;
    blockIdx = {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y};
    run_block();
  }
}

}  // namespace emulator
