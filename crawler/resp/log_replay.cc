#include "crawler/resp/log_replay.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/file_io.h"
#include "crawler/resp/log_frame.h"

namespace trawl::resp {

namespace {

tl::unexpected<Error> damaged_log(const std::string& path, std::uint64_t offset,
                                  std::string_view why) {
  return error(ErrorCode::kCorrupt,
               fmt::format("{} is damaged at byte {}: {}. What is behind it cannot be trusted; "
                           "restore the directory, or remove this file and later ones to go on "
                           "without the changes in them",
                           path, offset, why));
}

// Cuts the file at `size`, durably.
Result<void> cut_file(const std::string& path, std::uint64_t size) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0 || ::ftruncate(file.get(), static_cast<off_t>(size)) != 0 ||
      ::fsync(file.get()) != 0) {
    return tl::unexpected(system_error(errno, "cannot cut the unfinished end off " + path));
  }
  return {};
}

// One segment, read frame after frame.
class SegmentReader {
 public:
  static Result<SegmentReader> open(const std::filesystem::path& directory, std::uint64_t segment) {
    auto file = InputFile::open(log_path(directory, segment).string());
    if (!file) return tl::unexpected(file.error());
    const auto size = file->size();
    if (!size) return tl::unexpected(size.error());
    return SegmentReader(std::move(*file), segment, *size);
  }

  const std::string& path() const { return file_.path(); }
  std::uint64_t size() const { return size_; }
  std::uint64_t offset() const { return offset_; }
  std::uint64_t salt() const { return header_.salt; }

  // False if the file was killed while it was created.
  Result<bool> read_header() {
    const auto bytes = read(0, kLogHeaderBytes);
    if (!bytes) return tl::unexpected(bytes.error());
    const auto header = decode_log_header(*bytes);
    if (!header && size_ <= kLogHeaderBytes) return false;
    if (!header) return damaged_log(path(), 0, "its header is not that of a log");
    if (header->version != kLogVersion) {
      return error(ErrorCode::kUnsupportedVersion,
                   fmt::format("{} has version {} of the log's format, and this trawl knows "
                               "version {}: use the trawl that wrote it, or a newer one",
                               path(), header->version, kLogVersion));
    }
    if (header->segment != segment_) return damaged_log(path(), 0, "its name is another file's");
    header_ = *header;
    offset_ = kLogHeaderBytes;
    return true;
  }

  // The records of the next frame that has any, or nothing at the end of what is whole.
  Result<std::optional<std::string>> next(LogFrame& frame) {
    while (offset_ < size_) {
      const auto head = read(offset_, kLogFrameBytes);
      if (!head) return tl::unexpected(head.error());
      const auto decoded = decode_log_frame(*head, header_.salt);
      if (!decoded && head->starts_with('\0')) {
        const auto skipped = skip_lost_mark();
        if (!skipped) return tl::unexpected(skipped.error());
        if (*skipped) continue;
      }
      if (!decoded || decoded->bytes > kMostFrameBytes) return std::nullopt;
      if (decoded->bytes == 0) {
        offset_ += kLogFrameBytes;
        continue;
      }
      auto records = read(offset_ + kLogFrameBytes, decoded->bytes);
      if (!records) return tl::unexpected(records.error());
      if (records->size() != decoded->bytes ||
          log_checksum(*records, decoded->sequence, header_.salt) != decoded->checksum) {
        return std::nullopt;
      }
      frame = *decoded;
      offset_ += kLogFrameBytes + decoded->bytes;
      return std::move(*records);
    }
    return std::nullopt;
  }

  // A frame without records is not synced itself: a power failure can leave zeros in place of its
  // beginning though the next frame, or a part of it, is there. No frame with records is so short.
  Result<bool> skip_lost_mark() {
    const auto next_head = read(offset_ + kLogFrameBytes, kLogFrameBytes);
    if (!next_head) return tl::unexpected(next_head.error());
    if (!decode_log_frame(*next_head, header_.salt)) return false;
    offset_ += kLogFrameBytes;
    return true;
  }

  // Whether any frame begins behind offset(): each is written only when the one before is durable.
  Result<bool> has_frame_behind() const {
    constexpr std::size_t kPiece = 1 << 20;
    for (std::uint64_t at = offset_ + 1; at + kLogFrameBytes <= size_; at += kPiece) {
      const auto bytes = read(at, kPiece + kLogFrameBytes - 1);
      if (!bytes) return tl::unexpected(bytes.error());
      for (std::size_t i = bytes->find("TFRM"); i != std::string::npos;
           i = bytes->find("TFRM", i + 1)) {
        if (decode_log_frame(std::string_view(*bytes).substr(i), header_.salt)) return true;
      }
    }
    return false;
  }

 private:
  SegmentReader(InputFile file, std::uint64_t segment, std::uint64_t size)
      : file_(std::move(file)), segment_(segment), size_(size) {}

  Result<std::string> read(std::uint64_t offset, std::size_t bytes) const {
    std::string out(std::min<std::uint64_t>(bytes, size_ - std::min(size_, offset)), '\0');
    const auto got = file_.read_at(out.data(), out.size(), offset);
    if (!got) return tl::unexpected(got.error());
    out.resize(*got);
    return out;
  }

  InputFile file_;
  std::uint64_t segment_;
  std::uint64_t size_;
  std::uint64_t offset_ = 0;
  LogHeader header_;
};

class Replayer {
 public:
  Replayer(std::uint64_t sequence, const std::function<Result<void>(const LogRecord&)>& use)
      : from_(sequence), use_(use) {
    result_.next_sequence = sequence;
  }

  Result<void> segment(SegmentReader& reader, bool last) {
    const auto begun = reader.read_header();
    if (!begun) return tl::unexpected(begun.error());
    if (!*begun) {
      // Cut by an earlier start. If there were changes in it, those behind it say so.
      if (reader.size() == 0) return {};
      if (!last) return damaged_log(reader.path(), 0, "it ends within its header");
      result_.torn_bytes += reader.size();
      return cut_file(reader.path(), 0);
    }
    LogFrame frame;
    for (;;) {
      const std::uint64_t at = reader.offset();
      const auto records = reader.next(frame);
      if (!records) return tl::unexpected(records.error());
      if (!*records) break;
      if (auto used = use_records(**records, frame, reader.path(), at); !used) return used;
    }
    result_.bytes += reader.offset();
    if (reader.offset() == reader.size()) return {};
    return end_torn(reader, last);
  }

  const LogReplay& result() const { return result_; }

 private:
  Result<void> use_records(std::string_view bytes, const LogFrame& frame, const std::string& path,
                           std::uint64_t at) {
    if (frame.sequence > std::max(result_.next_sequence, from_)) {
      return damaged_log(path, at,
                         fmt::format("the changes from number {} to {} are missing",
                                     result_.next_sequence, frame.sequence - 1));
    }
    Decoder in(bytes);
    std::uint64_t number = frame.sequence;
    for (; !in.done(); ++number) {
      if (!take_record(in, record_)) return damaged_log(path, at, "it has an impossible record");
      if (number < from_ || number < result_.next_sequence) continue;
      if (auto used = use_(record_); !used) return used;
      ++result_.records;
      result_.next_sequence = number + 1;
    }
    return {};
  }

  Result<void> end_torn(SegmentReader& reader, bool last) {
    const auto more = reader.has_frame_behind();
    if (!more) return tl::unexpected(more.error());
    if (*more || !last) {
      return damaged_log(reader.path(), reader.offset(),
                         "a frame's checksum is wrong, or the frame is not whole");
    }
    result_.torn_bytes += reader.size() - reader.offset();
    return cut_file(reader.path(), reader.offset());
  }

  std::uint64_t from_;
  const std::function<Result<void>(const LogRecord&)>& use_;
  LogReplay result_;
  LogRecord record_;
};

}  // namespace

Result<std::vector<std::uint64_t>> log_segments(const std::filesystem::path& directory,
                                                std::uint64_t first) {
  std::vector<std::uint64_t> segments;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(directory, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const auto segment = log_segment_of(entry->path().filename().string());
    if (segment && *segment >= first) segments.push_back(*segment);
  }
  if (failure)
    return tl::unexpected(system_error(failure.value(), "cannot list " + directory.string()));
  std::ranges::sort(segments);
  return segments;
}

Result<LogReplay> replay_log(const std::filesystem::path& directory, std::uint64_t first,
                             std::uint64_t sequence,
                             const std::function<Result<void>(const LogRecord&)>& use) {
  const auto segments = log_segments(directory, first);
  if (!segments) return tl::unexpected(segments.error());
  Replayer replayer(sequence, use);
  for (const std::uint64_t segment : *segments) {
    auto reader = SegmentReader::open(directory, segment);
    if (!reader) return tl::unexpected(reader.error());
    const bool last = segment == segments->back();
    if (auto replayed = replayer.segment(*reader, last); !replayed)
      return tl::unexpected(replayed.error());
  }
  LogReplay result = replayer.result();
  result.next_segment = segments->empty() ? first : segments->back() + 1;
  return result;
}

}  // namespace trawl::resp
