// Replaces a filter's file and the file of its exact keys together.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "trawl/result.h"

#include "filter/exact/exact_keys_builder.h"

namespace trawl::cli {

// Replaces `path` by the filter that `save` writes, and its keys file by the keys of `exact`, on
// which finish() was called. Whenever the process is killed, the filter at `path` has its own keys.
// `prepare` is called with each of the two new files before its rename. Returns what `save`
// returns: the size of the filter's file.
Result<std::uint64_t> save_with_keys(
    const std::string& path, const std::function<Result<std::uint64_t>(const std::string&)>& save,
    ExactKeysBuilder& exact,
    const std::function<Result<void>(const std::string&)>& prepare = [](const std::string&) {
      return Result<void>{};
    });

}  // namespace trawl::cli
