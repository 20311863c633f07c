// url_lines: prints distinct URLs, one a line, at the speed of a pipe: input for large filters.
//
//   url_lines FIRST COUNT [absent]
//
// Prints URLs number FIRST to FIRST + COUNT - 1, 70 bytes in the mean; numbers are below 10^10.
// With `absent` they begin with http instead of https, so that they differ from all others.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "bench/frontier_urls.h"

int main(int argc, char** argv) {
  if (argc != 3 && !(argc == 4 && std::string_view(argv[3]) == "absent")) {
    std::fputs("usage: url_lines FIRST COUNT [absent]\n", stderr);
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[1], nullptr, 10);
  const std::uint64_t end = first + std::strtoull(argv[2], nullptr, 10);
  constexpr std::string_view kScheme = "https:";
  constexpr std::string_view kOther = "http:";
  constexpr std::size_t kBytes = 256 * 1024;
  const trawl::bench::UrlMaker urls(1'000'000);
  std::vector<char> buffer(kBytes + trawl::bench::UrlMaker::kMaxBytes + 1);
  std::size_t filled = 0;
  const auto flush = [&] {
    for (std::size_t done = 0; done < filled;) {
      const ssize_t n = ::write(STDOUT_FILENO, buffer.data() + done, filled - done);
      if (n < 0) std::exit(1);
      done += static_cast<std::size_t>(n);
    }
    filled = 0;
  };
  for (std::uint64_t number = first; number < end; ++number) {
    char* const line = buffer.data() + filled;
    std::size_t length = urls.write(number, line);
    if (argc == 4) {
      std::memmove(line + kOther.size(), line + kScheme.size(), length - kScheme.size());
      std::memcpy(line, kOther.data(), kOther.size());
      --length;
    }
    line[length] = '\n';
    filled += length + 1;
    if (filled >= kBytes) flush();
  }
  flush();
}
