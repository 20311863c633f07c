#include "crawler/warc/cdxj_sort.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/file_io.h"
#include "base/file_line_reader.h"

namespace trawl {

namespace {

constexpr std::size_t kWriteBuffer = 1u << 20;
constexpr std::size_t kAnyLength = std::numeric_limits<std::size_t>::max();

// Buffers what is written to a file.
class LineWriter {
 public:
  explicit LineWriter(OutputFile file) : file_(std::move(file)) {}

  Result<void> write(std::string_view line) {
    buffer_.append(line).append("\n");
    return buffer_.size() < kWriteBuffer ? Result<void>() : flush();
  }
  Result<void> flush() {
    auto written = file_.write(buffer_);
    buffer_.clear();
    return written;
  }
  std::uint64_t size() const { return file_.size() + buffer_.size(); }
  OutputFile& file() { return file_; }

 private:
  OutputFile file_;
  std::string buffer_;
};

struct Run {
  std::uint64_t begin;
  std::uint64_t end;
};

Result<void> write_sorted(std::string_view lines, LineWriter& out) {
  std::vector<std::string_view> sorted;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    sorted.push_back(lines.substr(0, end));
    lines.remove_prefix(end + 1);
  }
  std::sort(sorted.begin(), sorted.end());
  for (const std::string_view line : sorted) {
    if (auto written = out.write(line); !written) return written;
  }
  return {};
}

// Sorts piece by piece; each becomes a run in `out`.
Result<std::vector<Run>> write_runs(const InputFile& from, std::size_t memory, LineWriter& out) {
  const auto size = from.size();
  if (!size) return tl::unexpected(size.error());
  std::vector<Run> runs;
  FileLineReader reader(from, kAnyLength, 0, *size);
  std::string piece;
  for (bool more = true; more;) {
    const auto read = reader.next();
    if (!read) return tl::unexpected(read.error());
    more = *read && reader.whole();
    if (more) piece.append(reader.line()).append("\n");
    if (piece.empty() || (more && piece.size() < memory)) continue;
    const std::uint64_t begin = out.size();
    if (auto written = write_sorted(piece, out); !written) return tl::unexpected(written.error());
    runs.push_back({begin, out.size()});
    piece.clear();
  }
  return out.flush().map([&] { return std::move(runs); });
}

Result<void> merge_runs(const InputFile& from, const std::vector<Run>& runs, LineWriter& out) {
  std::vector<FileLineReader> readers;
  for (const Run& run : runs)
    readers.emplace_back(from, kAnyLength, run.begin, run.end);
  const auto later = [&](std::size_t a, std::size_t b) {
    return readers[a].line() > readers[b].line();
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> smallest(later);
  const auto advance = [&](std::size_t index) -> Result<void> {
    const auto read = readers[index].next();
    if (!read) return tl::unexpected(read.error());
    if (*read && readers[index].whole()) smallest.push(index);
    return {};
  };
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (auto read = advance(i); !read) return read;
  }
  while (!smallest.empty()) {
    const std::size_t index = smallest.top();
    smallest.pop();
    if (auto written = out.write(readers[index].line()); !written) return written;
    if (auto read = advance(index); !read) return read;
  }
  return out.flush();
}

Result<LineWriter> create(const std::string& path) {
  ::unlink(path.c_str());  // do not follow a symbolic link
  return OutputFile::create(path).map([](OutputFile file) { return LineWriter(std::move(file)); });
}

Result<void> sort_into(const InputFile& lines, const std::string& runs_path, const std::string& to,
                       std::size_t memory) {
  auto runs_out = create(runs_path);
  if (!runs_out) return tl::unexpected(runs_out.error());
  const auto runs = write_runs(lines, memory, *runs_out);
  if (!runs) return tl::unexpected(runs.error());
  const auto runs_in = InputFile::open(runs_path);
  if (!runs_in) return tl::unexpected(runs_in.error());
  auto out = create(to);
  if (!out) return tl::unexpected(out.error());
  return merge_runs(*runs_in, *runs, *out).and_then([&] { return out->file().sync(); });
}

Result<void> sort_at_once(const InputFile& lines, const std::string& to, std::size_t memory) {
  auto out = create(to);
  if (!out) return tl::unexpected(out.error());
  const auto runs = write_runs(lines, memory, *out);
  if (!runs) return tl::unexpected(runs.error());
  return out->file().sync();
}

}  // namespace

Result<void> sort_lines(const std::string& from, const std::string& to, std::size_t memory) {
  const auto lines = InputFile::open(from);
  if (!lines) return tl::unexpected(lines.error());
  const auto size = lines->size();
  if (!size) return tl::unexpected(size.error());
  if (*size < memory) return sort_at_once(*lines, to, memory);  // it is one run
  const std::string runs_path = to + ".runs";
  auto sorted = sort_into(*lines, runs_path, to, memory);
  ::unlink(runs_path.c_str());
  return sorted;
}

}  // namespace trawl
