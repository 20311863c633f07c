#include "crawler/cli/filter_pair.h"

#include "base/file_io.h"
#include "filter/exact/exact_keys_format.h"

namespace trawl::cli {

Result<std::uint64_t> save_with_keys(
    const std::string& path, const std::function<Result<std::uint64_t>(const std::string&)>& save,
    ExactKeysBuilder& exact, const std::function<Result<void>(const std::string&)>& prepare) {
  auto coming = TemporaryFile::create(path);
  if (!coming) return tl::unexpected(coming.error());
  const auto bytes = save(coming->name.path());
  if (!bytes) return bytes;
  return exact.announce(coming->name.path())
      .and_then([&] { return prepare(coming_exact_keys_path(path)); })
      .and_then([&] { return prepare(coming->name.path()); })
      .and_then([&] { return coming->name.publish(); })
      .and_then([&] { return exact.take_place(); })
      .map([&] { return *bytes; });
}

}  // namespace trawl::cli
