// bitmap-sort: sorts up to 100,000,000 distinct numbers of up to 8 digits, one a line, in one pass
// over the input and 12.5 MB of memory: bit n of an array says that n was there.
//
//   bitmap-sort [FILE]      standard input without FILE; the result goes to standard output
//
// Prints what `LC_ALL=C sort -u -n` prints, except that numbers lose leading zeros (007 is 7). A
// line must be 1 to 8 digits and nothing else; otherwise nothing is printed and the exit status
// is 1.
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "trawl/atomic_bit_array.h"

namespace {

constexpr std::uint64_t kNumbers = 100'000'000;
constexpr int kMaxDigits = 8;
constexpr std::size_t kBufferBytes = 1 << 18;

// Returns false, for its caller to return.
bool complain(const std::string& where, const std::string& what) {
  std::fprintf(stderr, "bitmap-sort: %s: %s\n", where.c_str(), what.c_str());
  return false;
}

bool read_numbers(std::FILE* in, const std::string& name, trawl::AtomicBitArray& seen) {
  std::uint64_t number = 0, line = 1;
  int digits = 0;
  for (int c; (c = getc_unlocked(in)) != EOF;) {
    const char* wrong = nullptr;
    if (c >= '0' && c <= '9') {
      number = 10 * number + static_cast<std::uint64_t>(c - '0');
      if (++digits > kMaxDigits) wrong = "more than 8 digits";
    } else if (c != '\n') {
      wrong = "not a number: a line must be 1 to 8 digits";
    } else if (digits == 0) {
      wrong = "empty line";
    } else {
      seen.set(number);
      number = 0;
      digits = 0;
      ++line;
    }
    if (wrong != nullptr) return complain(name + ":" + std::to_string(line), wrong);
  }
  if (std::ferror(in) != 0) return complain("cannot read " + name, std::strerror(errno));
  if (digits > 0) seen.set(number);  // the last line may lack its end
  return true;
}

bool write_numbers(const trawl::AtomicBitArray& seen, std::FILE* out) {
  bool written = true;
  for (auto n = seen.find_next(0); written && n < seen.size(); n = seen.find_next(n + 1)) {
    char text[kMaxDigits + 1];
    char* end = std::to_chars(text, text + kMaxDigits, n).ptr;
    *end++ = '\n';
    const auto size = static_cast<std::size_t>(end - text);
    written = fwrite_unlocked(text, 1, size, out) == size;
  }
  // A full disk may show no sooner.
  if (written) written = std::fclose(out) == 0;
  return written || complain("cannot write the result", std::strerror(errno));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    complain("usage", "bitmap-sort [FILE]");
    return 2;
  }
  const std::string name = argc == 2 ? argv[1] : "standard input";
  auto seen = trawl::AtomicBitArray::create(kNumbers);
  std::FILE* in = argc == 2 ? std::fopen(argv[1], "rb") : stdin;
  if (in == nullptr || !seen) {
    complain(name, in == nullptr ? std::strerror(errno) : seen.error().message);
    return 1;
  }
  static char in_buffer[kBufferBytes], out_buffer[kBufferBytes];
  std::setvbuf(in, in_buffer, _IOFBF, kBufferBytes);
  std::setvbuf(stdout, out_buffer, _IOFBF, kBufferBytes);
  return read_numbers(in, name, *seen) && write_numbers(*seen, stdout) ? 0 : 1;
}
