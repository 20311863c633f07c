#include "crawler/warc/warc_repair.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/file_io.h"
#include "crawler/warc/cdxj_line.h"
#include "crawler/warc/gzip_member.h"
#include "crawler/warc/warc_record_info.h"

namespace trawl {

namespace {

// How much of the end of an index is looked at for a line whose record is whole.
constexpr std::size_t kLinesRead = 256u << 10;
constexpr std::size_t kLinesTried = 64;
// Lines are written in pieces of this size.
constexpr std::size_t kLinesWritten = 256u << 10;
constexpr std::size_t kCopied = 1u << 20;

// Up to where file and index are known to be in order.
struct Known {
  std::uint64_t records = 0;  // bytes of the WARC file
  std::uint64_t lines = 0;    // bytes of the index
};

// Whether a whole record lies there.
bool is_record(const InputFile& file, std::uint64_t offset, std::optional<std::uint64_t> length) {
  GzipMemberReader reader(file, offset);
  const auto member = reader.next();
  if (!member || !*member || (length && (*member)->length != *length)) return false;
  return read_record_info(**member).has_value();
}

// Looks for the last line whose record is whole.
Result<Known> find_known(const InputFile& warc, const std::string& lines_path) {
  const auto lines = InputFile::open(lines_path);
  if (!lines) {
    return lines.error().code == ErrorCode::kNotFound ? Result<Known>()
                                                      : tl::unexpected(lines.error());
  }
  const auto size = lines->size();
  if (!size) return tl::unexpected(size.error());
  const std::uint64_t begin = *size - std::min<std::uint64_t>(*size, kLinesRead);
  std::string text(static_cast<std::size_t>(*size - begin), '\0');
  const auto n = lines->read_at(text.data(), text.size(), begin);
  if (!n) return tl::unexpected(n.error());
  std::string_view rest(text.data(), *n);
  for (std::size_t tried = 0; tried < kLinesTried; ++tried) {
    const std::size_t newline = rest.rfind('\n');
    if (newline == std::string_view::npos || newline == 0) break;
    rest = rest.substr(0, newline);
    const std::size_t start = rest.rfind('\n') + 1;  // npos + 1 is 0
    const auto place = cdxj_location(rest.substr(start));
    if (place && is_record(warc, place->offset, place->length))
      return Known{place->offset + place->length, begin + newline + 1};
  }
  return Known();
}

// Adds lines to an index.
class LineAppender {
 public:
  static Result<LineAppender> open(const std::string& path, std::uint64_t known) {
    FileDescriptor fd(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644));
    if (fd.get() < 0 || ::ftruncate(fd.get(), static_cast<off_t>(known)) != 0)
      return tl::unexpected(system_error(errno, "cannot write " + path));
    return LineAppender(std::move(fd), path);
  }
  Result<void> add(std::string_view line) {
    buffer_ += line;
    return buffer_.size() < kLinesWritten ? Result<void>() : flush();
  }
  Result<void> flush() {
    auto written = write_all(fd_.get(), buffer_, path_);
    buffer_.clear();
    return written;
  }

 private:
  LineAppender(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  FileDescriptor fd_;
  std::string path_;
  std::string buffer_;
};

struct Scan {
  std::uint64_t end = 0;     // of the last whole record
  bool has_content = false;  // beyond the record that begins the file
  std::uint64_t lines = 0;   // made
};

// Reads on from what is known, and makes the lines that are missing.
Result<Scan> scan(const InputFile& warc, const WarcNames& names, const Known& known,
                  LineAppender* index) {
  Scan result{.end = known.records, .has_content = known.records > 0};
  GzipMemberReader reader(warc, known.records);
  for (;;) {
    const auto member = reader.next();
    if (!member && member.error().code != ErrorCode::kCorrupt)
      return tl::unexpected(member.error());
    if (!member || !*member) break;
    const auto facts = read_record_info(**member);
    if (!facts) break;
    result.end = reader.offset();
    result.has_content |= facts->type != "warcinfo";
    if (index == nullptr) continue;
    std::string line = cdxj_start_of(*facts, **member);
    if (line.empty()) continue;
    line += cdxj_end((*member)->length, (*member)->offset, names.file);
    if (auto added = index->add(line); !added) return tl::unexpected(added.error());
    ++result.lines;
  }
  return index == nullptr ? Result<Scan>(result) : index->flush().map([&] { return result; });
}

// Whether there is a whole record behind `damage`: then it is not the end of an interrupted write.
Result<bool> records_follow(const InputFile& warc, std::uint64_t damage, std::uint64_t size) {
  static constexpr std::string_view kMagic("\x1f\x8b\x08", 3);
  std::string block;
  for (std::uint64_t at = damage + 1; at + kMagic.size() < size;) {
    block.resize(kCopied);
    const auto n = warc.read_at(block.data(), block.size(), at);
    if (!n) return tl::unexpected(n.error());
    block.resize(*n);
    for (std::size_t i = block.find(kMagic); i != std::string::npos;
         i = block.find(kMagic, i + 1)) {
      if (is_record(warc, at + i, {})) return true;
    }
    if (block.size() < kMagic.size()) break;
    at += block.size() - (kMagic.size() - 1);
  }
  return false;
}

Result<void> copy_tail(const InputFile& warc, std::uint64_t begin, const std::string& to) {
  ::unlink(to.c_str());  // a symbolic link is not to be followed
  auto out = OutputFile::create(to);
  if (!out) return tl::unexpected(out.error());
  std::string block(kCopied, '\0');
  for (std::uint64_t at = begin;;) {
    const auto n = warc.read_at(block.data(), block.size(), at);
    if (!n) return tl::unexpected(n.error());
    if (*n == 0) return out->sync();
    if (auto written = out->write(std::string_view(block).substr(0, *n)); !written) return written;
    at += *n;
  }
}

Result<void> cut(const std::string& path, std::uint64_t size) {
  FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() < 0 || ::ftruncate(fd.get(), static_cast<off_t>(size)) != 0 ||
      ::fdatasync(fd.get()) != 0)
    return tl::unexpected(system_error(errno, "cannot remove the damaged end of " + path));
  return {};
}

Result<void> remove(const WarcNames& names) {
  if (::unlink(names.open.c_str()) != 0)
    return tl::unexpected(system_error(errno, "cannot remove " + names.open));
  ::unlink(names.lines.c_str());
  return {};
}

std::string message(const WarcRepairReport& repair, const WarcNames& names, bool saved) {
  std::string text =
      repair.kept > 0
          ? fmt::format("{} was left open and was closed", names.closed)
          : fmt::format("{} was left open without a complete page and was removed", names.open);
  if (repair.cut > 0)
    text += fmt::format("; {} bytes of an incomplete record were removed from its end", repair.cut);
  if (saved)
    text +=
        fmt::format("; complete records follow the damage and were copied to {}", names.damaged);
  if (repair.lines_made > 0)
    text += fmt::format("; {} lines of its index were rebuilt", repair.lines_made);
  return text;
}

}  // namespace

Result<WarcRepairReport> repair_warc(const WarcNames& names, bool cdxj) {
  const auto warc = InputFile::open(names.open);
  if (!warc) return tl::unexpected(warc.error());
  const auto size = warc->size();
  if (!size) return tl::unexpected(size.error());
  const auto known = find_known(*warc, names.lines);
  if (!known) return tl::unexpected(known.error());

  std::optional<LineAppender> index;
  if (cdxj || ::access(names.lines.c_str(), F_OK) == 0) {
    auto opened = LineAppender::open(names.lines, known->lines);
    if (!opened) return tl::unexpected(opened.error());
    index.emplace(std::move(*opened));
  }
  const auto scanned = scan(*warc, names, *known, index ? &*index : nullptr);
  if (!scanned) return tl::unexpected(scanned.error());

  WarcRepairReport repair{.file = names.file,
                          .kept = scanned->has_content ? scanned->end : 0,
                          .cut = *size - scanned->end,
                          .lines_made = scanned->lines};
  const auto saved =
      repair.cut > 0 ? records_follow(*warc, scanned->end, *size) : Result<bool>(false);
  if (!saved) return tl::unexpected(saved.error());
  if (*saved) {
    if (auto copied = copy_tail(*warc, scanned->end, names.damaged); !copied)
      return tl::unexpected(copied.error());
  }
  const auto closed =
      repair.kept == 0 ? remove(names) : cut(names.open, scanned->end).and_then([&] {
        return publish_warc(names, index.has_value());
      });
  if (!closed) return tl::unexpected(closed.error());
  repair.message = message(repair, names, *saved);
  return repair;
}

}  // namespace trawl
