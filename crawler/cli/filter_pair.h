// A filter's file and that of its exact keys, replaced together.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trawl/result.h"

#include "filter/exact/exact_keys_builder.h"

namespace trawl::cli {

// Puts the filter that `save` writes in the place of `path`, and the keys of `exact`, on which
// finish() was called, beside it: whenever the process is killed, the filter there has its keys.
// `prepare` is called with each of the two files before it takes its place. Returns what `save`
// does: the bytes of the filter's file.
Result<std::uint64_t> save_with_keys(
    const std::string& path, const std::function<Result<std::uint64_t>(const std::string&)>& save,
    ExactKeysBuilder& exact,
    const std::function<Result<void>(const std::string&)>& prepare = [](const std::string&) {
      return Result<void>{};
    });

}  // namespace trawl::cli
