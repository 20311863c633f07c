#include "filter/snapshot/snapshot_writer.h"

#include <algorithm>
#include <cassert>

#include "filter/snapshot/write_pacer.h"

namespace trawl {

namespace {

// Bytes per request to write back: enough for the disk to work efficiently, and few enough not to
// delay a sync of another file.
constexpr std::uint64_t kWriteBackBytes = 2u << 20;

// The offset of a chunk if no chunk before it is left out: an upper bound.
std::uint64_t furthest_place(std::uint64_t index) {
  return kSnapshotHeaderBytes + index * kSnapshotChunkBytes;
}

}  // namespace

Result<SnapshotWriter> SnapshotWriter::create(const std::string& path) {
  auto file = OutputFile::create(path);
  if (!file) return tl::unexpected(file.error());
  return begin(std::move(*file));
}

Result<SnapshotWriter> SnapshotWriter::begin(OutputFile file) {
  // Reserves the header's place; zeros are not a valid header.
  if (auto written = file.write(std::string(kSnapshotHeaderBytes, '\0')); !written)
    return tl::unexpected(written.error());
  return SnapshotWriter(std::move(file));
}

Result<void> SnapshotWriter::append(std::uint64_t index, std::span<const std::uint64_t> words) {
  assert(words.size() <= kSnapshotChunkWords);
  assert(chunks_.empty() || chunks_.back().index < index);
  if (std::ranges::all_of(words, [](std::uint64_t word) { return word == 0; })) return {};
  if (left_out_ > 0) {
    if (auto filled = file_.write(std::string(left_out_, '\0')); !filled) return filled;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(words.data()), words.size_bytes());
  left_out_ = kSnapshotChunkBytes - bytes.size();
  const std::string padded = left_out_ > 0 ? std::string(bytes).append(left_out_, '\0') : "";
  chunks_.push_back({index, snapshot_chunk_checksum(index, left_out_ > 0 ? padded : bytes)});
  if (auto written = file_.write(bytes); !written) return written;
  return file_.write_back(kWriteBackBytes);
}

Result<void> SnapshotWriter::set_aside(std::uint64_t index, const WordArray& words) {
  set_aside_ = true;
  return file_.write_at({reinterpret_cast<const char*>(words.data()), words.bytes()},
                        furthest_place(index));
}

Result<void> SnapshotWriter::read_back(std::uint64_t index, const WordArray& words) const {
  assert(set_aside_ && (chunks_.empty() || chunks_.back().index < index));
  return file_.read_at({reinterpret_cast<char*>(words.data()), words.bytes()},
                       furthest_place(index));
}

void SnapshotWriter::prefetch(std::uint64_t index, std::uint64_t words) const noexcept {
  file_.prefetch(furthest_place(index), words * sizeof(std::uint64_t));
}

Result<std::uint64_t> SnapshotWriter::finish(const SnapshotHeader& header) {
  const auto done = file_.write(encode_snapshot_directory(chunks_))
                        .and_then([&] { return set_aside_ ? file_.cut() : Result<void>{}; })
                        .and_then([&] { return file_.write_at(encode_snapshot_header(header), 0); })
                        .and_then([&] { return file_.sync(); });
  if (!done) return tl::unexpected(done.error());
  return file_.size();
}

namespace {

Result<std::uint64_t> write_words(Result<SnapshotWriter> writer, const SnapshotHeader& header,
                                  const CopyWords& copy_words, const SnapshotPace& pace = {}) {
  if (!writer) return tl::unexpected(writer.error());
  WritePacer pacer(pace);
  std::vector<std::uint64_t> chunk(kSnapshotChunkWords);
  std::uint64_t index = 0;
  for (std::size_t section = 0; section < header.sections.size(); ++section) {
    if (header.sections[section].file != 0) continue;
    const std::uint64_t words = header.sections[section].words;
    for (std::uint64_t first = 0; first < words; first += kSnapshotChunkWords) {
      const auto count = std::min<std::uint64_t>(kSnapshotChunkWords, words - first);
      const std::span<std::uint64_t> part(chunk.data(), count);
      copy_words(section, first, part);
      auto written =
          writer->append(index++, part).and_then([&] { return pacer.wait(writer->size()); });
      if (!written) return tl::unexpected(written.error());
    }
  }
  return writer->finish(header);
}

}  // namespace

Result<std::uint64_t> write_snapshot(const std::string& path, const SnapshotHeader& header,
                                     const CopyWords& copy_words, const SnapshotPace& pace) {
  return write_words(SnapshotWriter::create(path), header, copy_words, pace);
}

Result<std::uint64_t> save_snapshot(const std::string& path, const SnapshotHeader& header,
                                    const CopyWords& copy_words) {
  auto temporary = TemporaryFile::create(path);
  if (!temporary) return tl::unexpected(temporary.error());
  auto size = write_words(SnapshotWriter::begin(std::move(temporary->file)), header, copy_words);
  if (!size) return size;
  return temporary->name.publish().map([&] { return *size; });
}

}  // namespace trawl
