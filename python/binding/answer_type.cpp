// SPDX-License-Identifier: Apache-2.0
#include "python/binding/answer_type.h"

#include <optional>

#include "python/binding/failures.h"

namespace draftline::python {

namespace {

struct AnswerObject {
  PyObject_HEAD Answered* answered;  // owned
};

PyObject* type = nullptr;  // of the module, which lives as long as the process

const Answered& of(PyObject* self) { return *reinterpret_cast<AnswerObject*>(self)->answered; }

void destroy(PyObject* self) {
  PyTypeObject* const its_type = Py_TYPE(self);
  delete reinterpret_cast<AnswerObject*>(self)->answered;
  PyObject_Free(self);
  Py_DECREF(its_type);  // instances of a type made at run time own it
}

PyObject* document(PyObject* self, void*) {
  return returned([&] { return made(of(self).answer().document); });
}

PyObject* points(PyObject* self, void*) { return PyLong_FromSize_t(of(self).answer().points); }

PyObject* missed(PyObject* self, void*) { return PyBool_FromLong(of(self).answer().missed ? 1 : 0); }

PyObject* obstacle(PyObject* self, void*) {
  const std::optional<std::string>& why = of(self).answer().obstacle;
  if (!why) Py_RETURN_NONE;
  return returned([&] { return made(on_a_line(*why)); });
}

PyObject* verdicts(PyObject* self, void*) {
  return returned([&] {
    std::vector<std::string> all = of(self).verdicts();
    for (std::string& one : all) one = on_a_line(one);
    return made(all);
  });
}

Format format_of(const std::string& name) {
  if (name == "table") return Format::table;
  if (name == "markdown") return Format::markdown;
  if (name == "csv") return Format::csv;
  if (name == "html") return Format::html;
  raise(PyExc_ValueError, name + " is none of table, markdown, csv, html");
}

// render(format, width)
PyObject* render(PyObject* self, PyObject* arguments) {
  return returned([&] {
    const char* format = nullptr;
    Py_ssize_t width = 0;
    if (PyArg_ParseTuple(arguments, "sn:render", &format, &width) == 0) throw PythonError();
    if (width < 0) raise(PyExc_ValueError, "width: must not be negative");
    const Format wanted = format_of(format);
    const std::string text = [&] {
      const GilReleased others;
      return of(self).render(wanted, static_cast<std::size_t>(width));
    }();
    return made(text);
  });
}

PyGetSetDef properties[] = {
    {"document", document, nullptr, nullptr, nullptr}, {"points", points, nullptr, nullptr, nullptr},
    {"missed", missed, nullptr, nullptr, nullptr},     {"obstacle", obstacle, nullptr, nullptr, nullptr},
    {"verdicts", verdicts, nullptr, nullptr, nullptr}, {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef methods[] = {{"render", render, METH_VARARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

PyObject* refuse(PyTypeObject*, PyObject*, PyObject*) {
  PyErr_SetString(PyExc_TypeError, "an Answer is made by ask()");
  return nullptr;
}

}  // namespace

void add_answer_type(PyObject* module) {
  PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void*>(refuse)},
                         {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                         {Py_tp_getset, properties},
                         {Py_tp_methods, methods},
                         {0, nullptr}};
  PyType_Spec spec{"draftline._core.Answer", sizeof(AnswerObject), 0, Py_TPFLAGS_DEFAULT, slots};
  Object made_type(PyType_FromSpec(&spec));
  if (PyObject_SetAttrString(module, "Answer", made_type.get()) != 0) throw PythonError();
  type = made_type.release();
}

Object made(Answered answered) {
  auto held = std::make_unique<Answered>(std::move(answered));
  Object object(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(type), 0));
  reinterpret_cast<AnswerObject*>(object.get())->answered = held.release();
  return object;
}

}  // namespace draftline::python
