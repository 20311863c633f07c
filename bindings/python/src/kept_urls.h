// What a frontier knows: its hosts, the URLs set aside, the state of a URL.
#pragma once

#include "bindings/python/src/support.h"

namespace trawl::python {

// Methods of Frontier objects.
PyObject* host(PyObject* self, PyObject* name);
PyObject* hosts(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* set_host(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* drop_host(PyObject* self, PyObject* name);
PyObject* set_aside(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* retry(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* lookup(PyObject* self, PyObject* url);

}  // namespace trawl::python
