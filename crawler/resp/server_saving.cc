// The server's checkpoints and its end, and what commands ask of it.
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "crawler/resp/server.h"

namespace trawl::resp {

namespace {

std::int64_t seconds_since_1970() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

ServerCounts Server::counts() const {
  ServerCounts counts = counts_;
  counts.clients = connections_.size();
  counts.max_clients = options_.max_clients;
  counts.commands = dispatcher_.commands();
  counts.seconds = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began_).count());
  return counts;
}

void Server::for_each_client(const std::function<void(const Client&)>& use) const {
  for (const auto& [descriptor, connection] : connections_)
    if (!connection->draining) use(connection->client());
}

void Server::shut_down(bool save) {
  stopping_ = true;
  save_at_end_ = save;
}

std::optional<std::string> Server::refusal() {
  FilterLog& log = store_->log();
  if (!log.failing()) return std::nullopt;
  if (options_.sync_before_reply && Clock::now() >= retry_log_) {
    retry_log_ = Clock::now() + std::chrono::milliseconds(100);
    if (log.commit()) {
      options_.note("the log is written again");
      return std::nullopt;
    }
  }
  return fmt::format("MISCONF {}; changes are refused until the log can be written", log.failure());
}

Result<void> Server::save() {
  if (saving_) return error(ErrorCode::kInUse, "a checkpoint is being written");
  const auto checkpoint = store_->begin_checkpoint();
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  auto done = store_->finish_checkpoint(*checkpoint, checkpoint->write());
  counts_.last_save_failed = !done;
  if (done) counts_.last_save = seconds_since_1970();
  return done;
}

Result<void> Server::begin_save() {
  if (saving_) return error(ErrorCode::kInUse, "a checkpoint is being written");
  auto checkpoint = store_->begin_checkpoint();
  if (!checkpoint) return tl::unexpected(checkpoint.error());
  saving_ = std::make_unique<Saving>(std::move(*checkpoint));
  saving_->thread = std::thread([saving = saving_.get(), wake = wake_.get()] {
    saving->result = saving->checkpoint.write();
    // release: publishes `result`; pairs with the acquire in finish_saving().
    saving->done.store(true, std::memory_order_release);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(wake, &one, sizeof one);
  });
  return {};
}

void Server::finish_saving() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(wake_.get(), &count, sizeof count);
  // acquire: pairs with the release of the thread that writes.
  if (!saving_ || !saving_->done.load(std::memory_order_acquire)) return;
  saving_->thread.join();
  const auto saved = std::move(saving_);
  const auto done = store_->finish_checkpoint(saved->checkpoint, saved->result);
  counts_.last_save_failed = !done;
  if (done) {
    counts_.last_save = seconds_since_1970();
    return;
  }
  constexpr std::chrono::seconds kPause{10};
  not_before_ = Clock::now() + kPause;
  options_.note(fmt::format("no checkpoint: {}; the log goes on", done.error().message));
}

void Server::look_after_saving() {
  if (!store_->wants_checkpoint() || Clock::now() < not_before_) return;
  if (const auto begun = begin_save(); !begun) {
    constexpr std::chrono::seconds kPause{10};
    not_before_ = Clock::now() + kPause;
    options_.note(fmt::format("no checkpoint: {}; the log goes on", begun.error().message));
  }
}

Result<void> Server::end() {
  listener_ = FileDescriptor();
  flusher_.reset();
  auto committed = store_->log().commit();
  if (saving_) {
    saving_->thread.join();
    const auto saved = std::move(saving_);
    static_cast<void>(store_->finish_checkpoint(saved->checkpoint, saved->result));
  }
  if (!save_at_end_ || !store_->has_changes()) return committed;
  auto saved = save();
  // A checkpoint has all that the log has.
  if (saved || !committed) return saved;
  options_.note(fmt::format("no checkpoint: {}; the log has all changes", saved.error().message));
  return {};
}

}  // namespace trawl::resp
