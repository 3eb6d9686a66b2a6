// SPDX-License-Identifier: Apache-2.0
// The extension module draftline._core: a Question in, its answer out. A thread of its own computes, so that only the
// calling thread handles Ctrl-C and calls back to Python. _core.pyi describes its functions.
#include <chrono>
#include <future>

#include "core/build_info.h"
#include "inputs/schema/file_schema.h"
#include "papers/inferred_paper.h"
#include "python/binding/answer_type.h"
#include "python/binding/asking.h"
#include "python/binding/failures.h"
#include "python/binding/limited_api.h"

namespace draftline::python {

namespace {

using Path = std::filesystem::path;

// Calls `function`, whose answer does not matter.
template <class... Arguments>
void call(PyObject* function, const Arguments&... arguments) {
  Object(PyObject_CallFunctionObjArgs(function, arguments.get()..., nullptr));
}

// Waits for the answer with the GIL released. Handles signals and reports progress, on_progress(done, of) or None,
// between the waits.
void wait_for(const std::future<Answered>& answer, const Collecting& collecting, PyObject* on_progress) {
  constexpr std::chrono::milliseconds kBetweenSignals{50};
  Collecting::Progress reported;
  const auto report = [&] {
    const Collecting::Progress now = collecting.progress();
    if (on_progress == Py_None || now == reported) return;
    reported = now;
    call(on_progress, Object(PyLong_FromSize_t(now.done)), Object(PyLong_FromSize_t(now.of)));
  };
  const auto ready = [&] {
    const GilReleased others;
    return answer.wait_for(kBetweenSignals) == std::future_status::ready;
  };
  while (!ready()) {
    if (PyErr_CheckSignals() != 0) throw PythonError();
    report();
  }
  report();
}

Answered ask_and_wait(const Question& q, const Path& data, int threads, PyObject* on_progress, PyObject* on_note) {
  const Data from(data);
  Collecting collecting(q, from);
  auto answer = std::async(std::launch::async, [&] { return ask(q, from, threads, collecting); });
  try {
    wait_for(answer, collecting, on_progress);
  } catch (...) {
    collecting.stop();
    const GilReleased others;
    answer.wait();
    throw;
  }
  for (const std::string& note : collecting.notes()) call(on_note, made(on_a_line(note)));
  return answer.get();
}

// The options that a dictionary has; the others are as C++ has them.
AskedOptions options_of(PyObject* given) {
  AskedOptions options;
  Py_ssize_t known = 0;
  const auto take = [&](const char* name, auto& value) {
    PyObject* const one = PyDict_GetItemString(given, name);  // borrowed
    if (one == nullptr) return;
    read(one, name, value);
    ++known;
  };
  take("first_point", options.from);
  take("kernels", options.kernels);
  take("oracle", options.oracle);
  take("intervals", options.intervals);
  take("load", options.load);
  take("most_devices", options.most_devices);
  take("headroom", options.headroom);
  if (known != PyDict_Size(given)) raise(PyExc_TypeError, "options: a dict with an unknown name, or no dict");
  return options;
}

Question question_of(PyObject* given) {
  Question q;
  const auto take = [&](const char* name, auto& value) { read(attribute(given, name).get(), name, value); };
  take("verb", q.verb);
  take("seed", q.seed);
  take("file", q.file);
  take("papers", q.papers);
  if (const Object text = attribute(given, "text"); text.get() != Py_None) read(text.get(), "text", q.text.emplace());
  q.options = options_of(attribute(given, "options").get());
  return q;
}

PyObject* ask(PyObject*, PyObject* arguments) {
  return returned([&] {
    PyObject *question = nullptr, *folder = nullptr, *on_progress = nullptr, *on_note = nullptr;
    int threads = 0;
    if (PyArg_ParseTuple(arguments, "OOiOO:ask", &question, &folder, &threads, &on_progress, &on_note) == 0) {
      throw PythonError();
    }
    Path data;
    read(folder, "data", data);
    return made(ask_and_wait(question_of(question), data, threads, on_progress, on_note));
  });
}

PyObject* schema(PyObject*, PyObject* arguments) {
  return returned([&] {
    const char* kind = nullptr;
    PyObject* folder = nullptr;
    if (PyArg_ParseTuple(arguments, "sO:schema", &kind, &folder) == 0) throw PythonError();
    Path data;
    read(folder, "data", data);
    return made(file_schema(kind, Catalogue(Data(data))).dump());
  });
}

PyObject* schema_kinds(PyObject*, PyObject*) {
  return returned([] { return made(std::vector<std::string>(kSchemaKinds.begin(), kSchemaKinds.end())); });
}

PyObject* names_of_papers(PyObject*, PyObject*) {
  return returned([] { return made(paper_names()); });
}

PyMethodDef functions[] = {{"ask", ask, METH_VARARGS, nullptr},
                           {"schema", schema, METH_VARARGS, nullptr},
                           {"schema_kinds", schema_kinds, METH_NOARGS, nullptr},
                           {"paper_names", names_of_papers, METH_NOARGS, nullptr},
                           {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_core", nullptr, -1, functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace

}  // namespace draftline::python

PyMODINIT_FUNC PyInit__core() {
  using namespace draftline;
  using namespace draftline::python;
  return returned([] {
    Object module(PyModule_Create(&definition));
    add_answer_type(module.get());
    const auto add = [&](const char* name, std::string_view value) {
      if (PyObject_SetAttrString(module.get(), name, made(std::string(value)).get()) != 0) throw PythonError();
    };
    add("version", build_version());
    add("commit", build_commit());
    return module;
  });
}
