#include "filter/exact/exact_keys_builder.h"

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <queue>
#include <string_view>
#include <utility>

#include "filter/exact/running_checksum.h"

namespace trawl {

namespace {

constexpr std::size_t kLeastKeys = 4096;
constexpr std::size_t kReadKeys = 4096;  // read from a run by one call

std::string_view bytes_of(std::span<const Fingerprint> keys) {
  return {reinterpret_cast<const char*>(keys.data()), keys.size_bytes()};
}

// Reads the keys of one run, in order.
class RunReader {
 public:
  // A run in memory.
  explicit RunReader(std::span<const Fingerprint> keys) : some_(keys) {}
  RunReader(const OutputFile& file, std::uint64_t keys) : file_(&file), left_(keys) {}

  // Returns false at the end.
  Result<bool> has_next() {
    if (!some_.empty()) return true;
    if (left_ == 0) return false;
    buffer_.resize(std::min<std::uint64_t>(kReadKeys, left_));
    auto read = file_->read_at(
        {reinterpret_cast<char*>(buffer_.data()), buffer_.size() * kExactKeyBytes}, at_);
    if (!read) return tl::unexpected(read.error());
    at_ += buffer_.size() * kExactKeyBytes;
    left_ -= buffer_.size();
    some_ = buffer_;
    return true;
  }
  Fingerprint next() const {
    assert(!some_.empty());
    return some_.front();
  }
  void drop() {
    assert(!some_.empty());
    some_ = some_.subspan(1);
  }

 private:
  std::span<const Fingerprint> some_;
  const OutputFile* file_ = nullptr;
  std::uint64_t at_ = 0;
  std::uint64_t left_ = 0;  // keys not read yet
  std::vector<Fingerprint> buffer_;
};

// Appends keys to a file, counting them and computing their checksum.
class KeyWriter {
 public:
  KeyWriter(OutputFile& out, ExactHeader& header) : out_(out), header_(header) {
    buffer_.reserve(kReadKeys);
  }

  // Skips a repetition of the last key.
  Result<void> add(Fingerprint key) {
    if (any_ && last_ == key) return {};
    any_ = true;
    last_ = key;
    buffer_.push_back(key);
    return buffer_.size() < kReadKeys ? Result<void>{} : flush();
  }
  Result<void> finish() {
    auto flushed = flush();
    header_.checksum = checksum_.value();
    return flushed;
  }

 private:
  Result<void> flush() {
    const auto bytes = bytes_of(buffer_);
    checksum_.add(bytes);
    header_.keys += buffer_.size();
    auto written = out_.write(bytes);
    buffer_.clear();
    return written;
  }

  OutputFile& out_;
  ExactHeader& header_;
  RunningChecksum checksum_;
  std::vector<Fingerprint> buffer_;
  bool any_ = false;
  Fingerprint last_;  // if there was any
};

}  // namespace

ExactKeysBuilder::ExactKeysBuilder(const Options& options) : options_(options) {
  header_.hash_key = options.hash_key;
}

Result<void> ExactKeysBuilder::add(std::span<const Fingerprint> keys) {
  const OneAtATime::Use use(using_);
  assert(!output_);
  const std::size_t most =
      std::max<std::size_t>(options_.max_memory_bytes / kExactKeyBytes, kLeastKeys);
  while (!keys.empty()) {
    const auto some = keys.first(std::min(keys.size(), most - buffer_.size()));
    // Reserve exactly, since doubling could exceed the memory limit.
    if (buffer_.capacity() < buffer_.size() + some.size())
      buffer_.reserve(
          std::min(most, std::max(2 * buffer_.capacity(), buffer_.size() + some.size())));
    buffer_.insert(buffer_.end(), some.begin(), some.end());
    keys = keys.subspan(some.size());
    if (buffer_.size() < most) continue;
    if (auto written = write_run(); !written) return written;
  }
  return {};
}

void ExactKeysBuilder::sort_buffer() {
  std::ranges::sort(buffer_);
  buffer_.erase(std::unique(buffer_.begin(), buffer_.end()), buffer_.end());
}

Result<void> ExactKeysBuilder::write_run() {
  sort_buffer();
  // The name is removed immediately, so that the file vanishes with the process.
  auto file = TemporaryFile::create(exact_keys_path(options_.filter));
  if (!file) return tl::unexpected(file.error());
  if (auto written = file->file.write(bytes_of(buffer_)); !written) return written;
  runs_.push_back({std::move(file->file), buffer_.size()});
  buffer_.clear();
  return {};
}

Result<void> ExactKeysBuilder::merge(OutputFile& out) {
  std::vector<RunReader> readers;
  for (const Run& run : runs_)
    readers.emplace_back(run.file, run.keys);
  for (const auto keys : others_)
    readers.emplace_back(keys);
  readers.emplace_back(std::span<const Fingerprint>(buffer_));
  using Next = std::pair<Fingerprint, std::size_t>;  // the next key of a reader
  std::priority_queue<Next, std::vector<Next>, std::greater<>> nexts;
  const auto push = [&](std::size_t reader) -> Result<void> {
    const auto more = readers[reader].has_next();
    if (!more) return tl::unexpected(more.error());
    if (*more) nexts.emplace(readers[reader].next(), reader);
    return {};
  };
  for (std::size_t reader = 0; reader < readers.size(); ++reader)
    if (auto pushed = push(reader); !pushed) return pushed;
  KeyWriter writer(out, header_);
  while (!nexts.empty()) {
    const auto [key, reader] = nexts.top();
    nexts.pop();
    readers[reader].drop();
    if (auto pushed = push(reader); !pushed) return pushed;
    if (auto written = writer.add(key); !written) return written;
  }
  return writer.finish();
}

Result<void> ExactKeysBuilder::finish() {
  const OneAtATime::Use use(using_);
  assert(!output_);
  sort_buffer();
  auto temporary = TemporaryFile::create(coming_exact_keys_path(options_.filter));
  if (!temporary) return tl::unexpected(temporary.error());
  // Reserves the header's place; zeros are not a valid header.
  auto written = temporary->file.write(std::string(kExactHeaderBytes, '\0')).and_then([&] {
    return merge(temporary->file);
  });
  if (!written) return tl::unexpected(written.error());
  runs_.clear();
  buffer_ = std::vector<Fingerprint>();  // "= {}" would keep its memory
  output_.emplace(Output{std::move(temporary->name), std::move(temporary->file)});
  return output_->file.sync();
}

// The name that announce() uses may hold the only keys of the current filter.
Result<void> ExactKeysBuilder::clear_way() const {
  const std::string coming = coming_exact_keys_path(options_.filter);
  std::error_code failure;
  if (!std::filesystem::exists(coming, failure)) return {};
  if (!is_exact_keys_file(coming)) {
    return error(
        ErrorCode::kAlreadyExists,
        coming + " is needed for the filter's keys, but is another file: move or remove it");
  }
  if (!std::filesystem::exists(options_.filter, failure)) return {};
  const auto keys = ExactKeys::open_for(options_.filter);
  if (!keys || !*keys || (*keys)->path() != coming) return {};
  return publish_file(coming, exact_keys_path(options_.filter));
}

Result<void> ExactKeysBuilder::announce(const std::string& coming_filter) {
  const OneAtATime::Use use(using_);
  assert(output_);
  if (auto clear = clear_way(); !clear) return clear;
  const auto index = InputFile::open(coming_filter).and_then([](const InputFile& it) {
    return read_snapshot_index(it);
  });
  if (!index) return tl::unexpected(index.error());
  header_.filter = identity_of(*index);
  return output_->file.write_at(encode_exact_header(header_), 0)
      .and_then([&] { return output_->file.sync(); })
      .and_then([&] { return output_->name.publish(); });
}

Result<void> ExactKeysBuilder::take_place() {
  return publish_file(coming_exact_keys_path(options_.filter), exact_keys_path(options_.filter));
}

}  // namespace trawl
