// SPDX-License-Identifier: Apache-2.0
// Python's class draftline._core.Answer, which holds an Answered.
#pragma once
#include "python/binding/asking.h"
#include "python/binding/limited_api.h"

namespace draftline::python {

void add_answer_type(PyObject* module);
Object made(Answered);

}  // namespace draftline::python
