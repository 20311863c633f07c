#include "base/text_file.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include <fmt/format.h>

namespace trawl {
namespace {

tl::unexpected<std::string> cannot_read(int errno_value) {
  return tl::unexpected("cannot be read: " + std::generic_category().message(errno_value));
}

}  // namespace

tl::expected<std::string, std::string> read_text_file(const std::filesystem::path& file,
                                                      std::size_t max_bytes) {
  const auto close = [](std::FILE* open) { std::fclose(open); };
  const std::unique_ptr<std::FILE, decltype(close)> stream(std::fopen(file.c_str(), "rbe"), close);
  if (stream == nullptr) return cannot_read(errno);
  std::string text;
  std::array<char, 65536> chunk;
  while (true) {
    const std::size_t got = std::fread(chunk.data(), 1, chunk.size(), stream.get());
    // For a directory this is EISDIR.
    if (std::ferror(stream.get()) != 0) return cannot_read(errno);
    if (got > max_bytes - text.size()) {
      return tl::unexpected(fmt::format("has more than {} MiB", max_bytes >> 20));
    }
    text.append(chunk.data(), got);
    if (got < chunk.size()) return text;
  }
}

}  // namespace trawl
