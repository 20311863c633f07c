#include "crawler/state/crawl_totals.h"

#include <charconv>
#include <fstream>

#include <fmt/format.h>

#include "base/file_io.h"

namespace trawl {

std::filesystem::path CrawlTotals::path(const std::filesystem::path& state_dir) {
  return state_dir / "fetched-bytes";
}

CrawlTotals::CrawlTotals(const std::filesystem::path& state_dir)
    : path_(path(state_dir).string()) {}

CrawlTotals::Totals CrawlTotals::read() const {
  std::ifstream file(path_);
  const auto next = [&file] {
    std::string line;
    std::getline(file, line);
    std::uint64_t number = 0;
    const char* const last = line.data() + line.size();
    const auto [end, error] = std::from_chars(line.data(), last, number);
    return !file.eof() && error == std::errc() && end == last ? number : 0;
  };
  const std::uint64_t bytes = next();
  return {.bytes = bytes, .truncated = next()};
}

Result<void> CrawlTotals::write(const Totals& totals) const {
  return replace_file(path_, fmt::format("{}\n{}\n", totals.bytes, totals.truncated));
}

}  // namespace trawl
