#include "crawler/output/output.h"

#include <atomic>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/mutex.h"
#include "crawler/output/output_files.h"
#include "crawler/output/writer_queue.h"

namespace trawl {

namespace {

// Gives back memory that was reserved for records of bodies that could have compressed worse.
void trim(std::string& bytes) {
  constexpr std::size_t kSlack = 16 * 1024;
  if (bytes.capacity() > bytes.size() + kSlack) bytes.shrink_to_fit();
}

// A group that takes longer is better written by a thread that has nothing else to do.
constexpr std::chrono::milliseconds kSlow{5};

Error closed_error() {
  return {ErrorCode::kClosed, "the crawl's output is closed"};
}

class OutputImpl final : public Output {
 public:
  OutputImpl(OutputFiles files, std::chrono::milliseconds longest_rest)
      : files_(std::move(files)), longest_rest_(longest_rest) {}

  ~OutputImpl() override {
    // The writer looks at it between two jobs.
    abandoned_.store(true, std::memory_order_relaxed);
    stop_writer();
  }

  Result<void> start() {
    try {
      writer_ = std::thread([this] { write(); });
    } catch (const std::system_error& failure) {
      return error(
          ErrorCode::kNoSpace,
          fmt::format("cannot start the thread that writes the output: {}", failure.what()));
    }
    return {};
  }

  bool keeps(const PageOutput& page) const override { return files_.keeps(page); }

  void submit(std::shared_ptr<PageOutput> page, std::function<void()> written) override {
    if (page->warc) trim(page->warc->bytes);
    const std::uint64_t bytes = page->memory();
    // The body itself is gone. Where there is no room for more than it took, little more it is.
    page->charge.shrink_to(bytes);
    if (page->charge.bytes() < bytes) page->charge.grow(bytes - page->charge.bytes());
    enqueue(PageJob{std::move(page), std::move(written), bytes}, bytes);
  }

  void submit_record(WarcRecords records, BodyCharge charge) override {
    trim(records.bytes);
    const std::uint64_t bytes = sizeof records + records.bytes.capacity();
    enqueue(RecordJob{std::move(records), std::move(charge), bytes}, bytes);
  }

  void settle(bool now) override {
    const auto since = queue_.waits_since();
    if (!since || (!now && std::chrono::steady_clock::now() < *since + kPatience)) return;
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

  std::optional<FirstCopy> find_duplicate(std::string_view digest,
                                          std::string_view url) const override {
    if (files_.index() == nullptr) return std::nullopt;
    auto first = files_.index()->find(digest);
    if (!first) {
      keep(first.error());
      return std::nullopt;
    }
    if (!*first || (*first)->url == url) return std::nullopt;
    return std::move(*first);
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
  const std::vector<std::string>& repairs() const override { return files_.repairs(); }
  const std::string& pages_path() const override { return files_.pages_path(); }

  Result<void> close() override {
    if (!writer_.joinable()) return tl::unexpected(closed_error());
    stop_writer();
    const MutexLock lock(writing_);
    closed_ = true;
    auto closed = files().close(!failure());
    if (const auto error = failure()) return tl::unexpected(*error);
    return closed;
  }

 private:
  void enqueue(WriterJob&& job, std::uint64_t bytes) {
    queued_bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (!queue_.push(std::move(job), bytes)) {
      queued_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    }
  }

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
    while (queue_.wait(longest_rest_)) {
      const MutexLock lock(writing_);
      // What fails, failure() keeps: see attempt().
      if (!write_queued()) static_cast<void>(attempt([&files = files()] { return files.tick(); }));
    }
    const MutexLock lock(writing_);
    write_queued();
  }

  // To be written.
  OutputFiles& files() TRAWL_REQUIRES(writing_) { return files_; }

  // False if there is nothing.
  bool write_queued() TRAWL_REQUIRES(writing_) {
    queue_.take(jobs_);
    if (jobs_.empty()) return false;
    const auto start = std::chrono::steady_clock::now();
    std::vector<PageOutput*> pages;
    for (WriterJob& job : jobs_) {
      write(job);
      if (const auto* const page = std::get_if<PageJob>(&job)) pages.push_back(page->page.get());
    }
    // What belongs to no page is flushed with the next one.
    const auto finished = pages.empty()
                              ? Result<void>{}
                              : attempt([&, &files = files()] { return files.finish(pages); });
    is_slow_.store(std::chrono::steady_clock::now() - start > kSlow, std::memory_order_relaxed);
    for (WriterJob& job : jobs_) {
      auto* const page = std::get_if<PageJob>(&job);
      if (page == nullptr) continue;
      page->page->charge.release();
      if (finished) page->written();
      *page = {};
    }
    return true;
  }

  // Frees at once what is written, not only when the rest of the jobs is done. Memory counts as
  // free before its charge is given to another.
  void write(WriterJob& job) TRAWL_REQUIRES(writing_) {
    if (auto* const page = std::get_if<PageJob>(&job)) {
      const auto written = attempt([&, &files = files()] { return files.write_page(*page->page); });
      queued_bytes_.fetch_sub(page->bytes, std::memory_order_relaxed);
      if (!written) page->page->discard();
      if (!page->page->has_lines()) page->page->charge.release();
    } else {
      auto& record = std::get<RecordJob>(job);
      // What fails, failure() keeps: see attempt().
      static_cast<void>(
          attempt([&, &files = files()] { return files.write_records(record.records); }));
      queued_bytes_.fetch_sub(record.bytes, std::memory_order_relaxed);
      record = {};
    }
  }

  // E1: nothing is written any more after an error, which failure() keeps and the crawl ends with.
  template <class Action>
  Result<void> attempt(Action&& action) {
    if (auto error = failure()) return tl::unexpected(std::move(*error));
    if (abandoned_.load(std::memory_order_relaxed)) return tl::unexpected(closed_error());
    Result<void> done = action();
    if (!done) keep(done.error());
    return done;
  }

  Mutex writing_;
  OutputFiles files_;  // see files(); what is const of it needs no lock
  std::vector<WriterJob> jobs_ TRAWL_GUARDED_BY(writing_);
  bool closed_ TRAWL_GUARDED_BY(writing_) = false;
  std::atomic<bool> is_slow_{false};  // the last group took its time
  const std::chrono::milliseconds longest_rest_;
  WriterQueue queue_;
  std::atomic<std::uint64_t> queued_bytes_{0};
  std::atomic<bool> abandoned_{false};

  mutable Mutex failure_mutex_;
  mutable std::optional<Error> failure_ TRAWL_GUARDED_BY(failure_mutex_);
  mutable std::atomic<bool> failed_{false};

  std::thread writer_;
};

}  // namespace

Result<std::unique_ptr<Output>> Output::open(const CrawlConfig& config,
                                             const std::filesystem::path& directory,
                                             const std::filesystem::path& state_dir, bool sync) {
  auto files = OutputFiles::open(config, directory, state_dir, sync);
  if (!files) return tl::unexpected(files.error());
  // A WARC file that nobody writes to is closed when it is old enough all the same.
  const bool files_age = config.output.warc && config.output.warc_time.count() > 0;
  const std::chrono::milliseconds rest =
      files_age ? std::chrono::milliseconds(std::chrono::seconds(1)) : std::chrono::hours(1);
  auto output = std::make_unique<OutputImpl>(std::move(*files), rest);
  if (auto started = output->start(); !started) return tl::unexpected(started.error());
  return output;
}

Result<std::vector<std::string>> Output::repair_warc_files(const CrawlConfig& config,
                                                           const std::filesystem::path& directory) {
  return OutputFiles::repair_warc_files(config, directory);
}

Result<bool> Output::probe(const CrawlConfig& config, const std::filesystem::path& directory) {
  return OutputFiles::probe(config, directory);
}

}  // namespace trawl
