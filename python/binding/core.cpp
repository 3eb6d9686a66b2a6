// SPDX-License-Identifier: Apache-2.0
// The extension module draftline._core: a Question in, its answer out. A thread of its own computes, so that only the
// calling thread handles Ctrl-C and calls back to Python. Exceptions are those of python/draftline/_errors.py.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <chrono>
#include <future>

#include "core/build_info.h"
#include "core/errors.h"
#include "core/printable.h"
#include "inputs/schema/file_schema.h"
#include "papers/inferred_paper.h"
#include "python/binding/asking.h"

namespace py = pybind11;

namespace draftline::python {

namespace {

using Path = std::filesystem::path;

// What Python receives while it waits: on_progress(done, of), or None; on_note(text).
struct Callbacks {
  py::object on_progress;
  py::function on_note;
};

std::string on_a_line(const std::string& message) { return printable(message, message.npos); }

// Waits for the answer with the GIL released. Handles signals and reports progress between the waits.
void wait_for(const std::future<Answered>& answer, const Collecting& collecting, const py::object& on_progress) {
  constexpr std::chrono::milliseconds kBetweenSignals{50};
  Collecting::Progress reported;
  const auto report = [&] {
    const Collecting::Progress now = collecting.progress();
    if (on_progress.is_none() || now == reported) return;
    reported = now;
    on_progress(now.done, now.of);
  };
  const auto ready = [&] {
    const py::gil_scoped_release others;
    return answer.wait_for(kBetweenSignals) == std::future_status::ready;
  };
  while (!ready()) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    report();
  }
  report();
}

Answered ask_and_wait(const Question& q, const Path& data, int threads, const Callbacks& back) {
  const Data from(data);
  Collecting collecting(q, from);
  auto answer = std::async(std::launch::async, [&] { return ask(q, from, threads, collecting); });
  try {
    wait_for(answer, collecting, back.on_progress);
  } catch (...) {
    collecting.stop();
    const py::gil_scoped_release others;
    answer.wait();
    throw;
  }
  for (const std::string& note : collecting.notes()) back.on_note(on_a_line(note));
  return answer.get();
}

void raise(const char* name, const py::object& argument) {
  const py::object type = py::module_::import("draftline._errors").attr(name);
  PyErr_SetObject(type.ptr(), type(argument).ptr());
}

void translate(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const InputErrors& e) {
    py::list messages;
    for (const std::string& message : e.messages()) messages.append(on_a_line(message));
    raise("InputError", messages);
  } catch (const DeviceError& e) { raise("DeviceError", py::str(on_a_line(e.what()))); } catch (const OutputError& e) {
    raise("OutputError", py::str(on_a_line(e.what())));
  } catch (const py::builtin_exception&) { throw; } catch (const std::bad_alloc&) {
    throw;  // pybind11 raises MemoryError
  } catch (const std::exception& e) { raise("Bug", py::str(on_a_line(e.what()))); }
}

void add_question(py::module_& m) {
  py::class_<AskedOptions>(m, "Options")
      .def_readwrite("first_point", &AskedOptions::from)
      .def_readwrite("kernels", &AskedOptions::kernels)
      .def_readwrite("oracle", &AskedOptions::oracle)
      .def_readwrite("intervals", &AskedOptions::intervals)
      .def_readwrite("load", &AskedOptions::load)
      .def_readwrite("most_devices", &AskedOptions::most_devices)
      .def_readwrite("headroom", &AskedOptions::headroom);
  py::class_<Question>(m, "Question")
      .def(py::init([](const std::string& verb, std::uint64_t seed) { return Question{.verb = verb, .seed = seed}; }),
           py::arg("verb"), py::arg("seed"))
      .def_readonly("verb", &Question::verb)
      .def_readwrite("file", &Question::file)
      .def_readwrite("text", &Question::text)
      .def_readwrite("papers", &Question::papers)
      .def_readonly("seed", &Question::seed)
      .def_property_readonly("options", [](Question& q) -> AskedOptions& { return q.options; });
}

void add_answer(py::module_& m) {
  py::enum_<Format>(m, "Format")
      .value("table", Format::table)
      .value("markdown", Format::markdown)
      .value("html", Format::html)
      .value("csv", Format::csv);
  py::class_<Answered>(m, "Answer")
      .def_property_readonly("document", [](const Answered& a) { return a.answer().document; })
      .def_property_readonly("points", [](const Answered& a) { return a.answer().points; })
      .def_property_readonly("missed", [](const Answered& a) { return a.answer().missed; })
      .def_property_readonly("obstacle",
                             [](const Answered& a) {
                               std::optional<std::string> why = a.answer().obstacle;
                               if (why) why = on_a_line(*why);
                               return why;
                             })
      .def_property_readonly("verdicts",
                             [](const Answered& a) {
                               std::vector<std::string> all = a.verdicts();
                               for (std::string& one : all) one = on_a_line(one);
                               return all;
                             })
      .def("render", &Answered::render, py::arg("format"), py::arg("width"), py::call_guard<py::gil_scoped_release>());
  m.def(
      "ask",
      [](const Question& q, const Path& data, int threads, py::object on_progress, py::function on_note) {
        return ask_and_wait(q, data, threads, {std::move(on_progress), std::move(on_note)});
      },
      py::arg("question"), py::arg("data"), py::arg("threads"), py::arg("on_progress").none(true), py::arg("on_note"));
}

}  // namespace

}  // namespace draftline::python

PYBIND11_MODULE(_core, m) {
  using namespace draftline;
  py::register_exception_translator(python::translate);
  python::add_question(m);
  python::add_answer(m);
  m.def(
      "schema",
      [](const std::string& kind, const std::filesystem::path& data) {
        return file_schema(kind, Catalogue(Data(data))).dump();
      },
      py::arg("kind"), py::arg("data"));
  m.def("schema_kinds", [] { return std::vector<std::string>(kSchemaKinds.begin(), kSchemaKinds.end()); });
  m.def("paper_names", paper_names);
  m.attr("version") = std::string(build_version());
  m.attr("commit") = std::string(build_commit());
}
