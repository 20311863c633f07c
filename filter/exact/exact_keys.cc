#include "filter/exact/exact_keys.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>

#include "base/mix.h"
#include "filter/exact/running_checksum.h"

namespace trawl {

namespace {

Result<ExactHeader> read_header(const InputFile& file) {
  const auto bytes = file.size();
  if (!bytes) return tl::unexpected(bytes.error());
  std::array<char, kExactHeaderBytes> header;
  const auto read = file.read_at(header.data(), header.size(), 0);
  if (!read) return tl::unexpected(read.error());
  return decode_exact_header({header.data(), *read}, *bytes, file.path());
}

// The paths where a filter's keys may be: next to a symbolic link, or else next to its target. Each
// path is followed by that of keys which were about to be renamed to it when their process was
// killed, and then by the path again, since the rename may have happened meanwhile.
std::vector<std::string> places_of_keys(const std::string& filter) {
  std::vector<std::string> places;
  const auto add = [&places](const std::string& of) {
    places.insert(places.end(),
                  {exact_keys_path(of), coming_exact_keys_path(of), exact_keys_path(of)});
  };
  add(filter);
  std::error_code error;
  const auto target = std::filesystem::canonical(filter, error);
  if (!error && std::filesystem::is_symlink(filter, error)) add(target.string());
  return places;
}

bool is_coming(std::string_view place) {
  return place.ends_with(".new");
}

}  // namespace

Result<ExactKeys> ExactKeys::open(const std::string& path, const std::string& filter,
                                  const SnapshotIndex& index) {
  auto file = InputFile::open(path);
  if (!file) return tl::unexpected(file.error());
  const auto header = read_header(*file);
  if (!header) return tl::unexpected(header.error());
  if (header->hash_key != index.header.hash_key || header->filter != identity_of(index)) {
    return error(
        ErrorCode::kInvalidArgument,
        fmt::format("{} does not belong to the current version of {}: build the filter again with "
                    "--exact, or remove {} to use the filter with its false-positive rate",
                    path, filter, path));
  }
  auto mapping = FileMapping::map(*file);
  if (!mapping) return tl::unexpected(mapping.error());
  return ExactKeys(std::move(*file), std::move(*mapping), *header);
}

Result<std::optional<ExactKeys>> ExactKeys::open_for(const std::string& filter) {
  std::optional<SnapshotIndex> index;
  std::optional<Error> wrong;
  for (const std::string& place : places_of_keys(filter)) {
    std::error_code error;
    if (!std::filesystem::exists(place, error) && !error) continue;
    if (!index) {
      auto read = InputFile::open(filter).and_then(
          [](const InputFile& it) { return read_snapshot_index(it); });
      if (!read) return tl::unexpected(read.error());
      index = std::move(*read);
    }
    auto keys = open(place, filter, *index);
    if (keys) return std::optional(std::move(*keys));
    // Unrenamed keys of another filter belong to no existing filter: ignore them.
    const bool of_none = is_coming(place) && keys.error().code == ErrorCode::kInvalidArgument;
    if (!wrong && !of_none && keys.error().code != ErrorCode::kNotFound) wrong = keys.error();
  }
  if (wrong) return tl::unexpected(*wrong);
  return std::nullopt;
}

Result<FilterAndKeys> open_filter_and_keys(const std::string& path) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    // While this file is open, its inode number is not reused.
    const auto file = InputFile::open(path);
    if (!file) return tl::unexpected(file.error());
    auto filter = MappedFilter::open(path);
    if (!filter) return tl::unexpected(std::move(filter.error()));
    auto keys = ExactKeys::open_for(path);
    if (!file->is_current()) continue;
    if (!keys) return tl::unexpected(std::move(keys.error()));
    return FilterAndKeys{std::move(*filter), std::move(*keys)};
  }
  return error(ErrorCode::kInUse, path + " is being replaced repeatedly: try again later");
}

std::span<const Fingerprint> ExactKeys::sorted() const noexcept {
  return {reinterpret_cast<const Fingerprint*>(mapping_.bytes() + kExactHeaderBytes),
          static_cast<std::size_t>(header_.keys)};
}

// Alternates interpolation, which finds random keys in a few steps, with bisection, so that any
// input takes at most twice the logarithm.
bool ExactKeys::contains(Fingerprint key) const noexcept {
  const auto keys = sorted();
  std::uint64_t begin = 0, end = keys.size();
  std::uint64_t least = 0, most = ~std::uint64_t{0};  // bounds of the upper halves in [begin, end)
  for (bool halve = false; begin < end; halve = !halve) {
    std::uint64_t at = begin + (end - begin) / 2;
    if (!halve && most > least) {
      const Uint128 share = static_cast<Uint128>(key.high - least) * (end - begin);
      at = begin + std::min(static_cast<std::uint64_t>(share / (most - least)), end - begin - 1);
    }
    const Fingerprint there = keys[at];
    if (there == key) return true;
    if (there < key) {
      begin = at + 1;
      least = there.high;
    } else {
      end = at;
      most = there.high;
    }
  }
  return false;
}

std::size_t ExactKeys::keep_true_hits(std::span<const Fingerprint> keys,
                                      std::span<bool> found) const noexcept {
  assert(keys.size() == found.size());
  std::size_t hits = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    found[i] = found[i] && contains(keys[i]);
    hits += found[i] ? 1 : 0;
  }
  return hits;
}

// Reads the file instead of the mapping, so that an I/O error can be reported.
Result<void> ExactKeys::verify() const {
  constexpr std::size_t kAtOnce = 64 * 1024;
  ::posix_fadvise(file_.descriptor(), 0, 0, POSIX_FADV_SEQUENTIAL);
  RunningChecksum checksum;
  std::vector<Fingerprint> keys(std::min<std::uint64_t>(kAtOnce, size()));
  std::optional<Fingerprint> last;
  for (std::uint64_t done = 0; done < size();) {
    const std::size_t n = std::min<std::uint64_t>(keys.size(), size() - done);
    const std::size_t bytes = n * kExactKeyBytes;
    const auto read = file_.read_at(reinterpret_cast<char*>(keys.data()), bytes,
                                    kExactHeaderBytes + done * kExactKeyBytes);
    if (!read) return tl::unexpected(read.error());
    if (*read < bytes) return damaged_snapshot(path(), "it ends too early");
    checksum.add({reinterpret_cast<const char*>(keys.data()), bytes});
    for (const Fingerprint key : std::span(keys).first(n)) {
      if (last && !(*last < key)) return damaged_snapshot(path(), "its keys are not in order");
      last = key;
    }
    done += n;
  }
  if (checksum.value() != header_.checksum)
    return damaged_snapshot(path(), "the checksum of its keys is wrong");
  return {};
}

}  // namespace trawl
