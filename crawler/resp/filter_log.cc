#include "crawler/resp/filter_log.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "crawler/resp/log_frame.h"

namespace trawl::resp {

namespace {

Result<void> write_at(int fd, std::string_view bytes, std::uint64_t offset,
                      const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return tl::unexpected(system_error(errno, "cannot write " + path));
    bytes.remove_prefix(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return {};
}

std::uint64_t random_salt() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace

FilterLog::FilterLog(std::filesystem::path directory, std::uint64_t segment, std::uint64_t sequence)
    : directory_(std::move(directory)), segment_(segment), sequence_(sequence) {}

void FilterLog::appended(std::size_t before) {
  if (before == 0) {
    pending_.first = sequence_;
    pending_.since = Clock::now();
  }
  ++sequence_;
  bytes_of_segment_ += pending_.bytes.size() - before;
}

void FilterLog::create(std::uint64_t filter, const FilterPlan& plan) {
  const MutexLock lock(mutex_);
  const std::size_t before = pending_.bytes.size();
  put_create(pending_.bytes, filter, plan);
  appended(before);
}

void FilterLog::drop(std::uint64_t filter) {
  const MutexLock lock(mutex_);
  const std::size_t before = pending_.bytes.size();
  put_drop(pending_.bytes, filter);
  appended(before);
}

void FilterLog::keys(LogRecord::Kind kind, std::uint64_t filter,
                     std::span<const Fingerprint> keys) {
  const MutexLock lock(mutex_);
  const std::size_t before = pending_.bytes.size();
  put_keys(pending_.bytes, kind, filter, keys);
  appended(before);
}

Result<void> FilterLog::commit() {
  const MutexLock writing(writing_);
  // What an earlier call could not write goes first.
  if (!in_flight_.bytes.empty())
    if (auto written = write_in_flight(); !written) return written;
  {
    const MutexLock lock(mutex_);
    if (pending_.bytes.empty()) return {};
    std::swap(in_flight_, pending_);
    in_flight_.segment = segment_;
    in_flight_any_ = true;
    in_flight_since_ = in_flight_.since;
    in_flight_bytes_ = in_flight_.bytes.size();
  }
  return write_in_flight();
}

Result<void> FilterLog::write_in_flight() {
  auto written = write_frame();
  const MutexLock lock(mutex_);
  failing_.store(!written, std::memory_order_relaxed);
  if (!written) {
    failure_ = written.error().message;
    return written;
  }
  constexpr std::size_t kKept = 2 << 20;
  if (in_flight_.bytes.capacity() > kKept) in_flight_.bytes = std::string();
  in_flight_.bytes.clear();
  in_flight_any_ = false;
  in_flight_bytes_ = 0;
  return {};
}

Result<void> FilterLog::open_segment(std::uint64_t segment) {
  const std::string path = log_path(directory_, segment);
  // An earlier attempt may have left the file: nothing in it was durable.
  FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.get() < 0) return tl::unexpected(system_error(errno, "cannot create " + path));
  const LogHeader header{.segment = segment, .salt = random_salt()};
  if (auto written = write_at(file.get(), encode_log_header(header), 0, path); !written)
    return written;
  if (::fsync(file.get()) != 0) return tl::unexpected(system_error(errno, "cannot sync " + path));
  if (auto synced = sync_directory(directory_.string()); !synced) return synced;
  file_ = std::move(file);
  file_segment_ = segment;
  salt_ = header.salt;
  offset_ = kLogHeaderBytes;
  return {};
}

Result<void> FilterLog::write_frame() {
  if (file_.get() < 0 || file_segment_ != in_flight_.segment)
    if (auto opened = open_segment(in_flight_.segment); !opened) return opened;
  const std::string path = log_path(directory_, file_segment_);
  const std::string& records = in_flight_.bytes;
  const LogFrame frame{.bytes = static_cast<std::uint32_t>(records.size()),
                       .sequence = in_flight_.first,
                       .checksum = log_checksum(records, in_flight_.first, salt_)};
  if (auto head = write_at(file_.get(), encode_log_frame(frame, salt_), offset_, path); !head)
    return head;
  if (auto rest = write_at(file_.get(), records, offset_ + kLogFrameBytes, path); !rest)
    return rest;
  if (auto synced = sync_file(file_.get(), path); !synced) return synced;
  offset_ += kLogFrameBytes + records.size();
  // That it is missing or not whole means nothing, so errors are ignored.
  const std::string mark = encode_log_frame({.sequence = in_flight_.first}, salt_);
  if (write_at(file_.get(), mark, offset_, path)) offset_ += kLogFrameBytes;
  return {};
}

std::uint64_t FilterLog::rotate() {
  const MutexLock lock(mutex_);
  bytes_of_segment_ = 0;
  return ++segment_;
}

std::uint64_t FilterLog::sequence() const {
  const MutexLock lock(mutex_);
  return sequence_;
}

FilterLog::Waiting FilterLog::waiting() const {
  const MutexLock lock(mutex_);
  if (in_flight_any_)
    return {
        .any = true, .bytes = in_flight_bytes_ + pending_.bytes.size(), .since = in_flight_since_};
  if (pending_.bytes.empty()) return {};
  return {.any = true, .bytes = pending_.bytes.size(), .since = pending_.since};
}

std::uint64_t FilterLog::bytes_of_segment() const {
  const MutexLock lock(mutex_);
  return bytes_of_segment_;
}

std::string FilterLog::failure() const {
  const MutexLock lock(mutex_);
  return failure_;
}

}  // namespace trawl::resp
