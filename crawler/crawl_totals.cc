#include "crawler/crawl_totals.h"

#include <charconv>
#include <fstream>

#include <fmt/format.h>

#include "filter/file_io.h"

namespace trawl {

std::filesystem::path CrawlTotals::path(const std::filesystem::path& state_dir) {
  return state_dir / "fetched-bytes";
}

CrawlTotals::CrawlTotals(const std::filesystem::path& state_dir)
    : path_(path(state_dir).string()) {}

std::uint64_t CrawlTotals::read_bytes() const {
  std::ifstream file(path_);
  std::string text(32, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  std::uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + file.gcount(), bytes);
  return error == std::errc() && *end == '\n' ? bytes : 0;
}

Result<void> CrawlTotals::write_bytes(std::uint64_t bytes) const {
  return replace_file(path_, fmt::format("{}\n", bytes));
}

}  // namespace trawl
