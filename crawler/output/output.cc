#include "crawler/output/output.h"

#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.h"
#include "crawler/output/writer_queue.h"

namespace trawl {

namespace {

// Gives back memory that was reserved for records of bodies that could have compressed worse.
void trim(std::string& bytes) {
  constexpr std::size_t kSlack = 16 * 1024;
  if (bytes.capacity() > bytes.size() + kSlack) bytes.shrink_to_fit();
}

// After a group that took longer the writer thread, which has nothing else to do, writes.
constexpr std::chrono::milliseconds kSlow{5};

Error closed_error() {
  return {ErrorCode::kClosed, "the crawl's output is closed"};
}

class OutputImpl final : public Output {
 public:
  explicit OutputImpl(OutputSinks sinks)
      : sinks_(std::move(sinks)), tick_interval_(sinks_.tick_interval()) {}

  ~OutputImpl() override {
    abandoned_.store(true, std::memory_order_relaxed);
    stop_writer();
  }

  Result<void> start() {
    try {
      writer_ = std::thread([this] { write(); });
    } catch (const std::system_error& failure) {
      return error(
          ErrorCode::kNoSpace,
          fmt::format("cannot start the thread that writes the output: {}; raise the limit of "
                      "processes with ulimit -u",
                      failure.code().message()));
    }
    return {};
  }

  const OutputSinks& sinks() const noexcept override { return sinks_; }

  void submit(std::shared_ptr<PageOutput> page, std::function<void()> written) override {
    if (page->warc) trim(page->warc->bytes);
    const std::uint64_t bytes = page->memory();
    // The body itself is gone. If there is no room for what is left, that is not much more than the
    // body took.
    page->charge.shrink_to(bytes);
    if (page->charge.bytes() < bytes) page->charge.grow(bytes - page->charge.bytes());
    page->queued = QueueShare(queued_bytes_, bytes);
    WriterJob job{std::move(page), std::move(written)};
    if (!queue_.push(std::move(job), bytes)) job.page->discard();  // closed
  }

  void write_due(bool now) override {
    const auto since = queue_.waits_since();
    if (!since || (!now && std::chrono::steady_clock::now() < *since + kMaxDelay)) return;
    if (!is_slow_.load(std::memory_order_relaxed)) {
      if (writing_.try_lock()) {
        const bool open = !closed_;
        if (open) write_queued();
        writing_.unlock();
        if (open) return;
      }
    }
    queue_.wake();
  }

  Result<void> flush() override {
    const MutexLock lock(writing_);
    if (closed_) return tl::unexpected(failure().value_or(closed_error()));
    write_queued();
    if (auto error = failure()) return tl::unexpected(std::move(*error));
    return {};
  }

  std::optional<FirstCopy> find_body(std::string_view digest) const override {
    if (sinks_.index() == nullptr) return std::nullopt;
    auto first = sinks_.index()->find(digest);
    if (!first) {
      keep(first.error());
      return std::nullopt;
    }
    return *std::move(first);
  }

  std::uint64_t queued_bytes() const override {
    return queued_bytes_.load(std::memory_order_relaxed);
  }
  std::optional<Error> failure() const override {
    // acquire: the error itself; pairs with the release in keep().
    if (!failed_.load(std::memory_order_acquire)) return std::nullopt;
    const MutexLock lock(failure_mutex_);
    return failure_;
  }

  Result<void> close() override {
    if (!writer_.joinable()) return tl::unexpected(closed_error());
    stop_writer();
    const MutexLock lock(writing_);
    closed_ = true;
    auto closed = writable().close();
    if (const auto error = failure()) return tl::unexpected(*error);
    return closed;
  }

 private:
  void stop_writer() {
    queue_.close();
    if (writer_.joinable()) writer_.join();
  }

  void keep(const Error& error) const {
    const MutexLock lock(failure_mutex_);
    if (!failure_) failure_ = error;
    // release: pairs with the acquire in failure().
    failed_.store(true, std::memory_order_release);
  }

  // The writer thread.
  void write() {
    while (queue_.wait(tick_interval_)) {
      const MutexLock lock(writing_);
      // An error is kept by failure(): see attempt().
      if (!write_queued())
        static_cast<void>(attempt([&sinks = writable()] { return sinks.do_periodic_work(); }));
    }
    const MutexLock lock(writing_);
    write_queued();
  }

  OutputSinks& writable() TRAWL_REQUIRES(writing_) { return sinks_; }

  // False if nothing is queued.
  bool write_queued() TRAWL_REQUIRES(writing_) {
    queue_.take(jobs_);
    if (jobs_.empty()) return false;
    const auto start = std::chrono::steady_clock::now();
    std::vector<PageOutput*> pages;
    pages.reserve(jobs_.size());
    bool complete = false;  // if a lease waits for it
    for (const WriterJob& job : jobs_) {
      pages.push_back(job.page.get());
      complete |= job.written != nullptr;
    }
    const auto written =
        attempt([&, &sinks = writable()] { return sinks.write(pages, complete, abandoned_); });
    is_slow_.store(std::chrono::steady_clock::now() - start > kSlow, std::memory_order_relaxed);
    for (WriterJob& job : jobs_) {
      job.page->discard();
      if (written && job.written) job.written();
      job = {};
    }
    return true;
  }

  // E1: after an error nothing is written any more; the crawl ends with failure().
  template <class Action>
  Result<void> attempt(Action&& action) {
    if (auto error = failure()) return tl::unexpected(std::move(*error));
    if (abandoned_.load(std::memory_order_relaxed)) return tl::unexpected(closed_error());
    Result<void> done = action();
    if (!done) keep(done.error());
    return done;
  }

  Mutex writing_;
  OutputSinks sinks_;  // written to through writable(); its const functions need no lock
  std::vector<WriterJob> jobs_ TRAWL_GUARDED_BY(writing_);
  bool closed_ TRAWL_GUARDED_BY(writing_) = false;
  std::atomic<bool> is_slow_{false};  // the last group took longer than kSlow
  const std::chrono::milliseconds tick_interval_;
  std::atomic<std::uint64_t> queued_bytes_{0};
  WriterQueue queue_;
  std::atomic<bool> abandoned_{false};

  mutable Mutex failure_mutex_;
  mutable std::optional<Error> failure_ TRAWL_GUARDED_BY(failure_mutex_);
  mutable std::atomic<bool> failed_{false};

  std::thread writer_;
};

}  // namespace

Result<std::unique_ptr<Output>> Output::open(const CrawlConfig& config,
                                             const std::filesystem::path& directory,
                                             const std::filesystem::path& state_dir, bool sync,
                                             std::span<const SinkKind> kinds, TallyTarget tally) {
  auto sinks = OutputSinks::open(config, directory, state_dir, sync, kinds, std::move(tally));
  if (!sinks) return tl::unexpected(sinks.error());
  auto output = std::make_unique<OutputImpl>(*std::move(sinks));
  if (auto started = output->start(); !started) return tl::unexpected(started.error());
  return output;
}

Result<std::vector<std::string>> Output::repair_records(const CrawlConfig& config,
                                                        const std::filesystem::path& directory) {
  return OutputSinks::repair_records(config, directory, built_in_sinks());
}

Result<bool> Output::probe(const CrawlConfig& config, const std::filesystem::path& directory,
                           std::span<const SinkKind> kinds) {
  return OutputSinks::probe(config, directory, kinds);
}

}  // namespace trawl
