// dict_of(): statistics of filters as dicts.
#pragma once

#include "trawl/filter.h"

#include "bindings/python/src/support.h"

namespace trawl::python {

Ref dict_of(const FilterStats& stats);

}  // namespace trawl::python
