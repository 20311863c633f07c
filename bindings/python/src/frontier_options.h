// frontier_options(): the keyword arguments of trawl.Frontier.
#pragma once

#include "trawl/embedded_options.h"

#include "bindings/python/src/support.h"

namespace trawl::python {

// The options of Frontier(directory, **options). An empty directory means a frontier in memory.
EmbeddedOptions frontier_options(PyObject* args, PyObject* kwargs);

}  // namespace trawl::python
