// profile_of(): rules for canonical keys by name.
#pragma once

#include "trawl/canonical_profile.h"

#include "bindings/python/src/support.h"

namespace trawl::python {

// The profile with the rules of an iterable; null and None: the lossless rules alone.
Profile profile_of(PyObject* rules);

}  // namespace trawl::python
