// bitmap-sort: sorts up to 100,000,000 distinct numbers of up to 8 digits, one a line, in one pass
// over the input and 12.5 MB of memory: bit n of an array is set if n is in the input.
//
//   bitmap-sort [--prefix TEXT] [--digits N] [FILE]
//
// Reads standard input without FILE; writes to standard output.
//
// Without options a line is 1 to 8 digits, and the result is what `LC_ALL=C sort -u -n` prints,
// except that numbers lose leading zeros (007 is 7). With --digits each line has exactly N digits
// (1 to 12; 10^N bits of memory) and keeps its leading zeros; with --prefix, TEXT precedes the N
// digits (default 8) of each line, in the input and the output: phone numbers such as 13900267164
// are --prefix 139 --digits 8. The result is then, byte for byte, what `LC_ALL=C sort -u` prints.
//
// Any other line is an error, reported with its number: then nothing is printed, and the exit
// status is 1. The status is 2 for wrong usage.
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "trawl/atomic_bit_array.h"

namespace {

constexpr std::size_t kDefaultDigits = 8;
constexpr std::size_t kMaxDigits = 12;
constexpr std::size_t kMaxPrefix = 64;
constexpr std::size_t kBufferBytes = 1 << 16;

struct Options {
  std::string prefix;
  std::size_t digits = kDefaultDigits;
  bool exact = false;  // each line has all its digits
  std::optional<std::string> file;
};

// Returns false, for its caller to return.
bool complain(const std::string& where, const std::string& what) {
  std::fprintf(stderr, "bitmap-sort: %s: %s\n", where.c_str(), what.c_str());
  return false;
}

std::uint64_t power_of_ten(std::size_t digits) {
  std::uint64_t power = 1;
  for (std::size_t i = 0; i < digits; ++i)
    power *= 10;
  return power;
}

// One line, byte by byte.
class Line {
 public:
  explicit Line(const Options& options) : options_(options) {}

  bool empty() const { return length_ == 0; }
  std::uint64_t number() const { return number_; }
  // Takes the next byte. Returns false if no valid line begins like this; then wrong() says why.
  bool take(int c) {
    if (length_ < options_.prefix.size()) {
      if (c != static_cast<unsigned char>(options_.prefix[length_])) return false;
      ++length_;
      return true;
    }
    if (c < '0' || c > '9' || digits() == options_.digits) return false;
    number_ = 10 * number_ + static_cast<std::uint64_t>(c - '0');
    ++length_;
    return true;
  }
  bool complete() const {
    return length_ > options_.prefix.size() && (!options_.exact || digits() == options_.digits);
  }
  void clear() { number_ = length_ = 0; }

  // Why `next` cannot follow the bytes taken.
  std::string wrong(int next) const {
    if (next == '\n' && empty()) return "empty line";
    if (length_ < options_.prefix.size()) return "does not begin with " + options_.prefix + form();
    const std::string many = std::to_string(options_.digits) + " digits";
    if (next == '\n') return "fewer than " + many + form();
    if (next >= '0' && next <= '9') return "more than " + many + form();
    return "not a number" + form();
  }

 private:
  std::size_t digits() const { return length_ - options_.prefix.size(); }
  std::string form() const {
    const std::string& prefix = options_.prefix;
    return ": a line must be " + (prefix.empty() ? "" : prefix + " and then ") +
           (options_.exact ? "" : "1 to ") + std::to_string(options_.digits) + " digits";
  }

  const Options& options_;
  std::uint64_t number_ = 0;
  std::size_t length_ = 0;
};

bool read_numbers(std::FILE* in, const std::string& name, const Options& options,
                  trawl::AtomicBitArray& seen) {
  Line line(options);
  std::uint64_t lines = 1;
  const auto refuse = [&](int next) {
    return complain(name + ":" + std::to_string(lines), line.wrong(next));
  };
  for (int c; (c = getc_unlocked(in)) != EOF;) {
    if (c != '\n') {
      if (!line.take(c)) return refuse(c);
      continue;
    }
    if (!line.complete()) return refuse('\n');
    seen.set(line.number());
    line.clear();
    ++lines;
  }
  if (std::ferror(in) != 0) return complain("cannot read " + name, std::strerror(errno));
  if (line.empty()) return true;
  if (!line.complete()) return refuse('\n');
  seen.set(line.number());  // the last line may be without line end
  return true;
}

bool write_numbers(const trawl::AtomicBitArray& seen, const Options& options, std::FILE* out) {
  char text[kMaxPrefix + kMaxDigits + 1];
  char* const first = text + options.prefix.copy(text, kMaxPrefix);
  bool written = true;
  for (auto n = seen.find_next(0); written && n < seen.size(); n = seen.find_next(n + 1)) {
    char* end = first + options.digits;
    if (options.exact) {
      auto rest = n;
      for (char* digit = end; digit != first; rest /= 10)
        *--digit = static_cast<char>('0' + rest % 10);
    } else {
      end = std::to_chars(first, end, n).ptr;
    }
    *end++ = '\n';
    const auto size = static_cast<std::size_t>(end - text);
    written = fwrite_unlocked(text, 1, size, out) == size;
  }
  // A full disk may be reported only here.
  if (written) written = std::fclose(out) == 0;
  return written || complain("cannot write the result", std::strerror(errno));
}

bool take_digits(std::string_view value, Options& options) {
  std::size_t digits = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), digits);
  if (error != std::errc() || end != value.data() + value.size() || digits < 1 ||
      digits > kMaxDigits)
    return complain("--digits", "must be a whole number from 1 to 12");
  options.digits = digits;
  options.exact = true;
  return true;
}

bool take_prefix(std::string_view value, Options& options) {
  bool printable = !value.empty() && value.size() <= kMaxPrefix;
  for (const char c : value)
    printable = printable && c >= ' ' && c <= '~';
  if (!printable) return complain("--prefix", "must be 1 to 64 printable ASCII characters");
  options.prefix = value;
  options.exact = true;
  return true;
}

// Returns nothing after printing an error.
std::optional<Options> parse(int argc, char** argv) {
  Options options;
  bool only_files = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view name = argv[i];
    if (only_files || !name.starts_with("--")) {
      if (options.file) {
        complain("usage", "bitmap-sort [--prefix TEXT] [--digits N] [FILE]");
        return std::nullopt;
      }
      options.file = name;
      continue;
    }
    only_files = name == "--";
    if (only_files) continue;
    const auto equals = name.find('=');
    const bool known = name.substr(0, equals) == "--prefix" || name.substr(0, equals) == "--digits";
    if (!known || (equals == name.npos && i + 1 == argc)) {
      complain("usage", "bitmap-sort [--prefix TEXT] [--digits N] [FILE]");
      return std::nullopt;
    }
    const std::string_view value = equals == name.npos ? argv[++i] : name.substr(equals + 1);
    const bool taken =
        name.starts_with("--prefix") ? take_prefix(value, options) : take_digits(value, options);
    if (!taken) return std::nullopt;
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options) return 2;
  const std::string name = options->file.value_or("standard input");
  auto seen = trawl::AtomicBitArray::create(power_of_ten(options->digits));
  std::FILE* in = options->file ? std::fopen(name.c_str(), "rb") : stdin;
  if (in == nullptr || !seen) {
    complain(name, in == nullptr ? std::strerror(errno) : seen.error().message);
    return 1;
  }
  static char in_buffer[kBufferBytes], out_buffer[kBufferBytes];
  std::setvbuf(in, in_buffer, _IOFBF, kBufferBytes);
  std::setvbuf(stdout, out_buffer, _IOFBF, kBufferBytes);
  return read_numbers(in, name, *options, *seen) && write_numbers(*seen, *options, stdout) ? 0 : 1;
}
