#include "crawler/warc/warc_names.h"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/file_io.h"
#include "crawler/warc/cdxj_sort.h"

namespace trawl {

namespace {

constexpr std::string_view kWarc = ".warc.gz";
constexpr std::string_view kOpen = ".open";
constexpr std::string_view kCdxj = ".cdxj";
// The index while it is sorted, and the temporary file of the sorter.
constexpr std::string_view kSorting = ".cdxj.tmp";
constexpr std::string_view kRuns = ".cdxj.tmp.runs";

bool is_name_byte(char c) {
  return is_ascii_alphanumeric(c) || c == '.' || c == '_' || c == '-';
}

// The stem of a file with this prefix and `ending`; empty if the name is not one of WarcNames.
std::string stem_of(const std::string& name, std::string_view prefix, std::string_view ending) {
  std::string_view rest = name;
  if (!rest.starts_with(prefix) || !rest.ends_with(ending)) return {};
  if (rest.size() < prefix.size() + ending.size()) return {};
  rest.remove_suffix(ending.size());
  const std::string_view stem = rest;
  rest.remove_prefix(prefix.size());
  constexpr std::size_t kTimeEnd = 18;  // "-" and 17 digits
  if (rest.size() < kTimeEnd + 2 || rest[0] != '-' || rest[kTimeEnd] != '-') return {};
  const std::string_view time = rest.substr(1, kTimeEnd - 1);
  const std::string_view serial = rest.substr(kTimeEnd + 1);
  const bool ours = std::all_of(time.begin(), time.end(), is_ascii_digit) &&
                    std::all_of(serial.begin(), serial.end(), is_ascii_digit);
  return ours ? std::string(stem) : std::string();
}

// The results of `stem_of_name` for all names there, except empty ones, in order.
Result<std::vector<std::string>> names(
    const std::filesystem::path& directory,
    const std::function<std::string(const std::string&)>& stem_of_name) {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    std::string stem = stem_of_name(entry->path().filename().string());
    if (!stem.empty()) found.push_back(std::move(stem));
  }
  if (error) {
    return tl::unexpected(
        system_error(error.value(), "cannot list the directory " + directory.string()));
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::vector<std::string>> stems(const std::filesystem::path& directory,
                                       std::string_view prefix, std::string_view ending) {
  return names(directory, [&](const std::string& name) { return stem_of(name, prefix, ending); });
}

std::string concat(std::string_view a, std::string_view b, std::string_view c = {}) {
  return std::string(a).append(b).append(c);
}

}  // namespace

WarcNames::WarcNames(const std::filesystem::path& in, std::string_view stem)
    : directory(in.string()), file(concat(stem, kWarc)) {
  const std::string base = (in / stem).string();
  closed = concat(base, kWarc);
  open = concat(base, kWarc, kOpen);
  lines = concat(base, kCdxj, kOpen);
  cdxj = concat(base, kCdxj);
  damaged = concat(base, ".damaged");
}

Result<void> check_warc_prefix(std::string_view prefix) {
  if (!prefix.empty() && prefix.size() <= 100 && prefix.front() != '.' &&
      std::all_of(prefix.begin(), prefix.end(), is_name_byte))
    return {};
  return error(
      ErrorCode::kInvalidArgument,
      fmt::format("output.warc_prefix = \"{}\" cannot begin file names: use 1 to 100 letters, "
                  "digits, '.', '_' and '-', and do not begin with '.'",
                  prefix));
}

bool is_warc_name(std::string_view name, std::string_view prefix) {
  static constexpr std::string_view kEndings[] = {
      kWarc, ".warc.gz.open", kCdxj, ".cdxj.open", kSorting, kRuns, ".damaged"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) {
    return !stem_of(std::string(name), prefix, ending).empty();
  });
}

std::string warc_stem(std::string_view prefix, std::chrono::system_clock::time_point time,
                      std::uint32_t serial) {
  const auto whole = std::chrono::floor<std::chrono::milliseconds>(time);
  return fmt::format("{}-{:%Y%m%d%H%M%S}{:03}-{:05}", prefix,
                     fmt::gmtime(std::chrono::system_clock::to_time_t(whole)),
                     whole.time_since_epoch().count() % 1000, serial);
}

Result<std::vector<std::string>> open_warc_stems(const std::filesystem::path& directory,
                                                 std::string_view prefix) {
  return stems(directory, prefix, concat(kWarc, kOpen));
}

Result<std::vector<std::string>> closed_warc_stems(const std::filesystem::path& directory) {
  return names(directory, [](const std::string& name) {
    return name.ends_with(kWarc) ? name.substr(0, name.size() - kWarc.size()) : std::string();
  });
}

Result<void> remove_leftovers(const std::filesystem::path& directory, std::string_view prefix) {
  for (const std::string_view ending : {kSorting, kRuns}) {
    const auto found = stems(directory, prefix, ending);
    if (!found) return tl::unexpected(found.error());
    for (const std::string& stem : *found)
      ::unlink((directory / concat(stem, ending)).c_str());
  }
  const auto lines = stems(directory, prefix, concat(kCdxj, kOpen));
  if (!lines) return tl::unexpected(lines.error());
  for (const std::string& stem : *lines) {
    const WarcNames names(directory, stem);
    if (::access(names.open.c_str(), F_OK) != 0 && errno == ENOENT) ::unlink(names.lines.c_str());
  }
  return {};
}

Result<void> publish_warc(const WarcNames& names, bool has_index) {
  if (has_index) {
    const std::string sorting = names.cdxj + ".tmp";
    if (auto sorted = sort_lines(names.lines, sorting); !sorted) {
      ::unlink(sorting.c_str());  // it would take up room on a full disk
      return sorted;
    }
    if (auto renamed = publish_file(sorting, names.cdxj); !renamed) return renamed;
  }
  if (auto renamed = publish_file(names.open, names.closed); !renamed) return renamed;
  // Last: as long as the WARC file is open, its index can be rebuilt.
  if (has_index) ::unlink(names.lines.c_str());
  return {};
}

}  // namespace trawl
