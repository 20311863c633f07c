#include "crawler/decide/parked_patterns.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace trawl {

namespace {

constexpr std::string_view kSetting = "park_pattern_after ";

std::string first_line(std::uint32_t park_pattern_after) {
  return fmt::format("{}{}\n", kSetting, park_pattern_after);
}

}  // namespace

Result<std::vector<std::string>> ParkedPatterns::read(const std::filesystem::path& state_dir,
                                                      std::uint32_t park_pattern_after) {
  const std::string file = path(state_dir).string();
  std::vector<std::string> patterns;
  std::error_code failure;
  if (!std::filesystem::exists(file, failure)) return patterns;
  const auto text = read_file(file, kMaxBytes + 4096);
  if (!text) return tl::unexpected(text.error());
  if (kSetting.starts_with(*text)) return patterns;  // an older version was killed as it began
  if (!text->starts_with(kSetting)) {
    return error(
        ErrorCode::kCorrupt,
        file +
            " is not a list of parked patterns: delete the file, and the patterns are found again");
  }
  const std::string first = first_line(park_pattern_after);
  if (!text->starts_with(first)) return patterns;
  std::size_t begin = first.size();
  for (std::size_t end; (end = text->find('\n', begin)) != std::string::npos; begin = end + 1)
    patterns.push_back(text->substr(begin, end - begin));
  return patterns;
}

Result<std::unique_ptr<ParkedPatterns>> ParkedPatterns::open(const std::filesystem::path& state_dir,
                                                             bool resumed,
                                                             std::uint32_t park_pattern_after) {
  std::vector<std::string> before;
  if (resumed) {
    auto known = read(state_dir, park_pattern_after);
    if (!known) return tl::unexpected(std::move(known.error()));
    before = std::move(*known);
  }
  std::string text = first_line(park_pattern_after);
  for (const std::string& pattern : before)
    text += pattern + '\n';
  const auto file = path(state_dir);
  std::unique_ptr<ParkedPatterns> patterns(
      new ParkedPatterns(file.string(), std::move(text), std::move(before)));
  std::error_code failure;
  if (std::filesystem::exists(file, failure)) {
    const MutexLock lock(patterns->mutex_);
    if (auto begun = patterns->begin(); !begun) return tl::unexpected(std::move(begun.error()));
  }
  return patterns;
}

Result<void> ParkedPatterns::begin() {
  auto file = OutputFile::replace(path_, text_);
  if (!file) return tl::unexpected(std::move(file.error()));
  file_ = std::move(*file);
  text_ = {};
  return {};
}

Result<void> ParkedPatterns::add(std::string_view pattern) {
  const MutexLock lock(mutex_);
  if (!file_) {
    if (auto begun = begin(); !begun) return begun;
  }
  if (file_->size() + pattern.size() + 1 > kMaxBytes) return {};
  return file_->write(std::string(pattern) + '\n');
}

}  // namespace trawl
