// trawl filter check
#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "trawl/mapped_filter.h"

#include "crawler/cli/any_filter.h"
#include "crawler/cli/exit_codes.h"
#include "crawler/cli/filter_commands.h"
#include "crawler/cli/line_reader.h"
#include "crawler/cli/say.h"
#include "filter/exact/exact_keys.h"

namespace trawl::cli {

namespace {

// Exit codes as grep's, unlike those of the other commands.
constexpr int kSelected = 0;
constexpr int kNoneSelected = 1;

// Buffers standard output until flush(), which is called after each read of the input: so the
// reader of a pipe gets lines without delay.
class LineOutput {
 public:
  void add(std::string_view line) {
    text_ += line;
    text_ += '\n';
  }

  // Returns errno, or 0.
  int flush() {
    std::string_view rest = text_;
    while (!rest.empty()) {
      const ssize_t n = ::write(STDOUT_FILENO, rest.data(), rest.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      rest.remove_prefix(static_cast<std::size_t>(n));
    }
    text_.clear();
    return 0;
  }

 private:
  std::string text_;
};

// A closed pipe is not an error: its reader has what it wanted.
int output_trouble(int error) {
  return error == EPIPE ? kTrouble
                        : report_trouble(system_error(error, "cannot write standard output"));
}

int check_lines(const FilterCheckArguments& arguments, const MappedFilter& filter,
                const std::optional<ExactKeys>& exact) {
  const KeyedHash hash = filter.hash();
  LineReader reader(arguments.inputs);
  LineOutput output;
  std::array<Fingerprint, LineReader::kMaxLines> keys;
  std::array<bool, LineReader::kMaxLines> found;
  std::uint64_t selected = 0;
  while (true) {
    const auto lines = reader.next();
    if (!lines) return report_trouble(lines.error());
    const std::size_t n = lines->size();
    if (n == 0) break;
    for (std::size_t i = 0; i < n; ++i)
      keys[i] = hash((*lines)[i]);
    std::size_t in = filter.contains_batch({keys.data(), n}, {found.data(), n});
    if (exact) in = exact->keep_true_hits({keys.data(), n}, {found.data(), n});
    selected += arguments.invert ? n - in : in;
    if (arguments.quiet && selected > 0) return kSelected;
    if (arguments.quiet || arguments.count) continue;
    for (std::size_t i = 0; i < n; ++i) {
      if (found[i] != arguments.invert) output.add((*lines)[i]);
    }
    if (const int error = output.flush(); error != 0) return output_trouble(error);
  }
  if (arguments.count && !arguments.quiet) {
    output.add(std::to_string(selected));
    if (const int error = output.flush(); error != 0) return output_trouble(error);
  }
  return selected > 0 ? kSelected : kNoneSelected;
}

}  // namespace

int run_filter_check(const FilterCheckArguments& arguments) {
  if (const auto readable = LineReader::check_inputs(arguments.inputs); !readable)
    return report_trouble(readable.error());
  const auto opened = open_filter_and_keys(arguments.filter);
  if (!opened) return report_trouble(opened.error());
  const auto& [filter, exact] = *opened;
  if (arguments.verify) {
    const auto intact = verify_filter_file(arguments.filter).and_then([&] {
      return opened->keys ? opened->keys->verify() : Result<void>{};
    });
    if (!intact) return report_trouble(intact.error());
  }
  return check_lines(arguments, filter, exact);
}

}  // namespace trawl::cli
