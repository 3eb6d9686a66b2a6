// SPDX-License-Identifier: Apache-2.0
#include "measure/decode_grid.h"

#include <algorithm>
#include <chrono>

#include "core/build_info.h"
#include "core/text_file.h"

namespace draftline::measure {

namespace {

class DecodingGrid {
 public:
  DecodingGrid(const GridAsked& asked, ValidationDevice& on, Validation& validation, CoreMonitor& core,
               const Watcher& watcher)
      : asked_(asked), on_(on), validation_(validation), core_(core), watcher_(watcher), todo_(asked.cells) {
    go_on();
  }

  GridSteps all() {
    const std::size_t once = todo_.size();  // cells that co-runners disturbed are appended behind these
    std::size_t i = 0, again = 0;
    for (; i < todo_.size() && !watcher_.interrupted(); ++i) {
      do_between(to_double(std::min(i, once)) / to_double(once));
      if (asked_.time && (elapsed() > *asked_.time || too_long(todo_[i]))) {
        result_.left_out += i < once;
        continue;
      }
      core_.wait([&] { watcher_.progress(std::min(i, once), once, "other programs to leave the core"); });
      try {
        keep(measured(todo_[i]));
      } catch (const DeviceError& e) {  // cells measured so far are kept, and a run that goes on begins behind this one
        MeasuredCell cell = left_out(todo_[i], e.what());
        cell.device_failed = true;
        keep(std::move(cell));
        save();
        throw;
      }
      if (i >= once) ++again;
      else if (!core_.stayed_free()) todo_.push_back(GridCell(todo_[i]));
      watcher_.progress(std::min(i + 1, once), once, {});
    }
    if (i > 0) save();
    if (todo_.size() > once)
      watcher_.say("cells that co-runners disturbed: " + std::to_string(todo_.size() - once) +
                   ", measured again: " + std::to_string(again));
    result_.whole = i >= once;
    return std::move(result_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static Seconds since(Clock::time_point t) { return Seconds{std::chrono::duration<double>(Clock::now() - t).count()}; }
  Seconds elapsed() const { return since(start_) - between_; }
  static MeasuredCell empty(const GridCell& c) {
    return {.transformer = c.transformer, .method = c.method, .batch_size = c.batch_size, .context = c.context};
  }
  static MeasuredCell left_out(const GridCell& c, std::string reason) {
    MeasuredCell m = empty(c);
    m.skipped = std::move(reason);
    return m;
  }

  MeasuredCell left_out_of(const GridCell& c, const std::exception& e) {
    on_.forget();
    return left_out(c, e.what());
  }

  // Continues an earlier run whose cells are in the file.
  void go_on() {
    Provenance& now = result_.steps;
    now = {.device = asked_.device,
           .title = on_.title(),
           .commit = std::string(build_commit()),
           .source = "draftline-probe",
           .locator = "draftline validate --device " + asked_.device + " on this machine",
           .arguments = asked_.arguments,
           .machine = {},
           .model = std::string(build_model()),
           .input_files = asked_.input_files};
    if (std::error_code none; !std::filesystem::exists(asked_.file, none)) return;
    const Document d = Document::from_file(asked_.file);
    MeasuredSteps before = read_measured_steps(d.root());
    d.finish();
    now.must_go_on(before, asked_.file);
    validation_.check_networks(before.cells, asked_.file);
    if (before.arguments != now.arguments)
      throw InputErrors(asked_.file.string() + ": was measured with other arguments; name another --out");
    auto& cells = result_.steps.cells = std::move(before.cells);
    std::vector<GridCell> last;
    std::erase_if(todo_, [&](const GridCell& c) {
      const auto there = std::ranges::find_if(cells, [&](const MeasuredCell& m) { return same_cell(m, empty(c)); });
      if (there == cells.end()) return false;
      if (there->device_failed) last.push_back(c);
      return true;
    });
    todo_.insert(todo_.end(), last.begin(), last.end());
    if (todo_.size() < asked_.cells.size())
      watcher_.say(asked_.file.string() + ": " + std::to_string(asked_.cells.size() - todo_.size()) + " of " +
                   std::to_string(asked_.cells.size()) + " cells are there already");
  }

  void do_between(double over) {
    if (!asked_.between_cells) return;
    if (asked_.time) over = std::max(over, std::min(elapsed() / *asked_.time, 1.0));
    const auto from = Clock::now();
    asked_.between_cells(over);
    between_ += since(from);
  }

  bool too_long(const GridCell& c) {
    constexpr Seconds kLongest{0.25};  // of a step
    constexpr int kMostRead = 40000;   // rows of prompts that are read
    return validation_.expected(c.transformer, c.method, c.batch_size, c.context) > kLongest ||
           (c.batch_size * c.context > kMostRead && validation_.steered(c.transformer, c.method));
  }

  MeasuredCell measured(const GridCell& c) {
    try {
      const auto [plain, method] = on_.decodings(c);
      const auto before = on_.memory_times();
      MeasuredCell m = measure(c, plain, method, asked_.turns, asked_.time_budget);
      if (const auto after = on_.memory_times(); before && after && m.skipped.empty()) m.memory = mean(*before, *after);
      return m;
    } catch (const OutOfDeviceMemory& e) {  // smaller cells may still fit
      return left_out_of(c, e);
    } catch (const DeviceError&) {
      throw;
    } catch (const std::exception& e) {  // a mistake of this program's in one cell must not cost the others
      return left_out_of(c, e);
    }
  }

  void keep(MeasuredCell cell) {
    constexpr Seconds kBetweenSaves{5};
    auto& cells = result_.steps.cells;
    std::erase_if(cells, [&](const MeasuredCell& before) { return same_cell(before, cell); });
    cells.push_back(std::move(cell));
    if (elapsed() - saved_ > kBetweenSaves) save();
  }
  void save() {
    AtomicFile out(asked_.file);
    write_measured_steps(out.stream(), result_.steps);
    out.commit();
    on_.keep();
    saved_ = elapsed();
  }

  const GridAsked& asked_;
  ValidationDevice& on_;
  Validation& validation_;
  CoreMonitor& core_;
  const Watcher& watcher_;
  std::vector<GridCell> todo_;
  GridSteps result_;
  Clock::time_point start_ = Clock::now();
  Seconds between_, saved_;
};

}  // namespace

GridSteps decode_grid(const GridAsked& asked, ValidationDevice& on, Validation& validation, CoreMonitor& core,
                      const Watcher& watcher) {
  return DecodingGrid(asked, on, validation, core, watcher).all();
}

}  // namespace draftline::measure
