#include "frontier/redis/redis_exchange.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <poll.h>

namespace trawl {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

void RedisExchange::add(std::string_view bytes, std::size_t place) {
  connection_->queue(bytes);
  expected_.push_back(place);
}

void RedisExchange::end_with_wait(Time until) {
  constexpr milliseconds kLeast{10}, kMost{1000};
  const auto left = std::chrono::duration_cast<milliseconds>(until - Clock::now());
  const std::string patience = std::to_string(std::clamp(left, kLeast, kMost).count());
  add(encode_command({"WAIT", "1", patience}));
  waits_until_ = until;
}

void RedisExchange::advance() {
  const auto advanced = connection_->advance(replies_);
  if (!advanced && !is_done()) {
    break_off(advanced.error());
    return;
  }
  if (!is_done() || !waits_until_) return;
  const RedisReply& copies = replies_.back();
  replicated_ = copies.is_integer() && copies.integer >= 1;
  if (copies.is_error())
    trouble_.message = fmt::format("{} refuses WAIT: {}", node().text(), copies.text);
  if (!replicated_ && copies.is_integer()) {
    trouble_.message = fmt::format(
        "no replica of the Redis node {} has acknowledged the write; start one again, or "
        "add one: after six times cluster.takeover_after without any, the crawl goes on",
        node().text());
    if (Clock::now() < *waits_until_) end_with_wait(*waits_until_);
  }
}

void RedisExchange::break_off(Error why) {
  broken_ = true;
  was_sent_ = connection_->is_ready();
  trouble_ = std::move(why);
}

void RedisExchange::give_up() {
  if (is_done()) return;
  given_up_ = true;
  was_sent_ = connection_->is_ready();
  if (trouble_.message.empty())
    trouble_.message = fmt::format("the Redis node {} has not answered in time", node().text());
  connection_->forget();
}

void RedisExchange::advance(std::span<RedisExchange> exchanges, milliseconds patience) {
  std::vector<pollfd> polled;
  std::vector<RedisExchange*> open;
  for (RedisExchange& one : exchanges) {
    if (one.is_done()) continue;
    open.push_back(&one);
    polled.push_back(
        {.fd = one.connection_->descriptor(), .events = one.connection_->events(), .revents = 0});
  }
  ::poll(polled.data(), polled.size(),
         static_cast<int>(std::max(patience, milliseconds(0)).count()));
  const Time now = Clock::now();
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (polled[i].revents != 0) {
      open[i]->advance();
    } else if (auto late = open[i]->connection_->overdue(now)) {
      open[i]->break_off(std::move(*late));
    }
  }
}

}  // namespace trawl
