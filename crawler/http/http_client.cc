// The event loop. libcurl's multi interface (curl_multi_socket_action) runs all transfers of a
// thread; this class gives it events from epoll and its timer, and does what libcurl cannot: names
// are resolved by a Resolver and passed to libcurl as placeholders; a StartGate is asked once the
// address is known; bodies that find no memory pause until the BodyMemoryBudget decides; transfers
// that exceed a time of their own are ended.
//
// A transfer goes through these states: looking up names, waiting for its turn (`turns_`), with
// libcurl, failed (`failed_`) or finished. Callbacks of libcurl only record what happened; results
// are handled after libcurl has returned, since a Done callback may start other transfers.
#include "crawler/http/http_client.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <curl/curl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/file_io.h"
#include "base/one_thread.h"
#include "crawler/http/cookie_jars.h"
#include "crawler/http/socket_poller.h"
#include "crawler/http/stale_urls.h"
#include "crawler/http/transfer.h"

namespace trawl {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct CurlMultiDelete {
  void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};

// How often the transfers' timeouts are checked: often enough for the shortest.
milliseconds tick_of(const HttpOptions& options) {
  const auto shortest =
      std::min({options.timeout, options.connect_timeout, options.first_byte_timeout});
  return std::clamp(shortest / 20, milliseconds(5), milliseconds(100));
}

constexpr long kUnlimited = 1 << 30;

class EpollHttpClient final : public HttpClient {
 public:
  EpollHttpClient(const HttpOptions& options, SocketPoller sockets, FileDescriptor wakeup)
      : context_{.options = options,
                 .sockets = std::move(sockets),
                 .floods = FloodGuard([this](const void* tls) { end_flooded(tls); }),
                 .client = this},
        tick_(tick_of(options)),
        wakeup_(std::move(wakeup)),
        jars_(CookieJars::kMaxJars, CookieJars::kMaxBytes, options.budget, options.cookies) {
    set_up_libraries();
    multi_.reset(curl_multi_init());
    CURLM* multi = multi_.get();
    curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &EpollHttpClient::on_socket);
    curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, &context_.sockets);
    curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &EpollHttpClient::on_timer);
    curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
    // libcurl 7.88 keeps, and reads at each new connection, a record of every server for which it
    // closed the oldest connection of a full cache. So the transfers keep the cache from filling.
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, kUnlimited);
    curl_multi_setopt(multi, CURLMOPT_PIPELINING,
                      options.multiplex && options.http2 ? CURLPIPE_MULTIPLEX : CURLPIPE_NOTHING);
    context_.sockets.watch(wakeup_.get(), SocketPoller::Owner::kWakeup, true, false);
  }

  ~EpollHttpClient() override {
    for (Transfer* transfer : active_) {
      if (transfer->in_multi) curl_multi_remove_handle(multi_.get(), transfer->easy());
    }
  }

  Result<void> start_resolver() {
    auto resolver =
        Resolver::create(context_.options.resolver, [this](int fd, bool read, bool write) {
          if (read || write) {
            context_.sockets.watch(fd, SocketPoller::Owner::kResolver, read, write);
          } else {
            context_.sockets.drop(fd);
          }
        });
    if (!resolver) return tl::unexpected(resolver.error());
    resolver_ = *std::move(resolver);
    return {};
  }

  void start(const HttpRequest& request, Done done) override {
    thread_.check();
    Transfer& transfer = idle_transfer(request.proxy);
    transfer.place = active_.size();
    transfer.url_hash = std::hash<std::string>{}(request.url);
    active_.push_back(&transfer);
    const auto now = Clock::now();
    if (active_.size() == 1) next_check_ = now + tick_;
    std::shared_ptr<CookieJar> jar;
    if (!request.cookie_jar.empty()) jar = jars_.find(request.cookie_jar);
    go_on(transfer, transfer.begin(request, std::move(done), std::move(jar), now));
  }

  void send() override {
    thread_.check();
    if (timer_ && act_if_due(Clock::now())) acted_ = true;
  }

  void run(milliseconds max_wait) override {
    // Requests that were started leave before the answers to others are read. Some may have ended
    // already, so that there is nothing to wait for.
    send();
    const bool busy = std::exchange(acted_, false) || unfinished_ || !failed_.empty();
    for (const SocketPoller::Event& event : wait(busy ? milliseconds(0) : wait_time(max_wait))) {
      // An earlier event of this batch may have ended the interest in this one.
      if (context_.sockets.wanted(event)) handle(event);
    }
    if (timer_ || resolver_->pending() > 0 || !active_.empty()) run_timers(Clock::now());
    if (!context_.stalled.empty()) resume_stalled();
    if (!context_.slowed.empty()) resume_slowed();
    end_failed();
    finish_transfers();
  }

  void wake() override {
    // seq_cst, both: pairs with wait(): either this thread sees the other sleep, or that one sees
    // this call.
    woken_.store(true, std::memory_order_seq_cst);
    if (!asleep_.exchange(false, std::memory_order_seq_cst)) return;
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wakeup_.get(), &one, sizeof one);
  }

  std::size_t active() const override { return active_.size(); }

 private:
  // Waits for events, or for wake(), which may have been called since the last wait.
  std::span<const SocketPoller::Event> wait(milliseconds most) {
    if (most.count() > 0) {
      // seq_cst, both: pairs with wake(), as said there.
      asleep_.store(true, std::memory_order_seq_cst);
      if (woken_.load(std::memory_order_seq_cst)) most = milliseconds(0);
    }
    const auto events = context_.sockets.wait(most);
    asleep_.store(false, std::memory_order_relaxed);
    // acquire: pairs with wake(), so that what happened before it is visible.
    woken_.exchange(false, std::memory_order_acquire);
    return events;
  }

  Transfer& idle_transfer(const std::string& proxy) {
    auto& idle = proxy.empty() ? idle_ : idle_by_proxy_[proxy];
    if (idle.empty()) {
      transfers_.push_back(std::make_unique<Transfer>(context_, proxy));
      return *transfers_.back();
    }
    Transfer* const transfer = idle.back();
    idle.pop_back();
    return *transfer;
  }

  // Advances a transfer: looks up the next name, or passes the transfer to libcurl. A failure is
  // only noted, and handled later, since this may run within start().
  void go_on(Transfer& transfer, Transfer::Verdict verdict) {
    if (verdict.failure) return give_up(transfer, std::move(verdict));
    const std::string* const name = transfer.next_name();
    if (name == nullptr) return take_turn(transfer);
    resolver_->resolve(*name, Lookup{.transfer = &transfer, .use = transfer.uses});
  }

  void give_up(Transfer& transfer, Transfer::Verdict verdict) {
    transfer.fail(std::move(verdict));
    transfer.ended = true;
    failed_.push_back(&transfer);
  }

  // A transfer that waits. Small enough for std::function to need no allocation.
  struct Lookup {
    Transfer* transfer;
    std::uint32_t use;
    void operator()(const Resolution& resolution) const {
      // The transfer may have ended meanwhile.
      if (use != transfer->uses || transfer->ended) return;
      auto& client = static_cast<EpollHttpClient&>(transfer->client());
      client.go_on(*transfer, transfer->resolved(resolution));
    }
  };

  void take_turn(Transfer& transfer) {
    const StartGate::Answer answer = transfer.ask_gate();
    switch (answer.when) {
      case StartGate::Answer::When::kNow:
        return launch(transfer);
      case StartGate::Answer::When::kSoon:
        transfer.set_waiting(Clock::now());
        turns_.emplace(answer.at, Lookup{.transfer = &transfer, .use = transfer.uses});
        return;
      case StartGate::Answer::When::kLater:
        return give_up(transfer, transfer.sent_away(answer.at));
    }
  }

  // Asks the gates of waiting transfers again.
  void take_turns(Clock::time_point now) {
    while (!turns_.empty() && turns_.begin()->first <= now) {
      const auto [transfer, use] = turns_.begin()->second;
      turns_.erase(turns_.begin());
      if (use != transfer->uses || transfer->ended) continue;
      transfer->set_waiting(now);
      take_turn(*transfer);
    }
  }

  void launch(Transfer& transfer) {
    transfer.prepare(Clock::now());
    const CURLMcode added = curl_multi_add_handle(multi_.get(), transfer.easy());
    transfer.in_multi = added == CURLM_OK;
    if (!transfer.in_multi)
      return give_up(transfer, {FetchError::kOther, curl_multi_strerror(added)});
    // Immediately, not after the millisecond that libcurl rounds up to: several requests take that
    // long.
    timer_ = Clock::now();
  }

  void relaunch(Transfer& transfer) {
    remove(transfer);
    launch(transfer);
  }

  // libcurl may read on, to close the connection.
  void remove(Transfer& transfer) {
    context_.floods.begin_call();
    curl_multi_remove_handle(multi_.get(), transfer.easy());
    transfer.in_multi = false;
  }

  // Called from within libcurl.
  void end_flooded(const void* tls) {
    for (Transfer* transfer : active_)
      transfer->on_flood(tls);
  }

  void handle(const SocketPoller::Event& event) {
    switch (event.owner) {
      case SocketPoller::Owner::kCurl:
        return act(event.fd, (event.readable ? CURL_CSELECT_IN : 0) |
                                 (event.writable ? CURL_CSELECT_OUT : 0) |
                                 (event.failed ? CURL_CSELECT_ERR : 0));
      case SocketPoller::Owner::kResolver:
        return resolver_->on_socket(event.fd, event.readable || event.failed, event.writable);
      case SocketPoller::Owner::kWakeup: {
        std::uint64_t count;
        [[maybe_unused]] const ssize_t read = ::read(event.fd, &count, sizeof count);
        return;
      }
    }
  }

  void act(curl_socket_t socket, int events) {
    int running = 0;
    context_.floods.begin_call();
    curl_multi_socket_action(multi_.get(), socket, events, &running);
    if (context_.sending.empty()) return;
    // Read after the requests were sent, so that a delay counted from here is never too short (P1).
    const auto now = Clock::now();
    for (Transfer* transfer : context_.sending)
      transfer->set_sent(now);
    context_.sending.clear();
  }

  // What libcurl does by time, and what it was given to do.
  bool act_if_due(Clock::time_point now) {
    if (!timer_ || *timer_ > now) return false;
    timer_.reset();
    act(CURL_SOCKET_TIMEOUT, 0);
    return true;
  }

  void run_timers(Clock::time_point now) {
    take_turns(now);
    act_if_due(now);
    if (const auto due = resolver_->next_time(); due && *due <= now) resolver_->on_time();
    if (active_.empty() || now < next_check_) return;
    next_check_ = now + tick_;
    for (Transfer* transfer : active_) {
      if (transfer->ended) continue;
      Transfer::Verdict verdict = transfer->check(now);
      if (verdict.failure) {
        give_up(*transfer, std::move(verdict));
      } else if (transfer->in_multi && transfer->wants_other_address(now)) {
        relaunch(*transfer);
      }
    }
  }

  // Continues or ends stalled transfers on which the budget has decided.
  void resume_stalled() {
    const auto stalled = std::exchange(context_.stalled, {});
    const auto now = Clock::now();
    for (Transfer* transfer : stalled) {
      switch (transfer->waiter_state()) {
        case BodyWaiter::State::kWaiting:
          context_.stalled.push_back(transfer);
          break;
        case BodyWaiter::State::kGranted:
          context_.floods.begin_call();
          if (!transfer->resume(now)) give_up(*transfer, {});
          break;
        case BodyWaiter::State::kEvicted:
          give_up(*transfer, {FetchError::kMemory, "no memory is left for the body"});
          break;
        case BodyWaiter::State::kIdle:
          break;
      }
    }
  }

  // One after the other, for each takes bytes that the next then waits for.
  void resume_slowed() {
    const auto slowed = std::exchange(context_.slowed, {});
    for (std::size_t i = 0; i < slowed.size(); ++i) {
      if (slowed[i]->ended) continue;
      const auto now = Clock::now();
      if (context_.options.rate->free_at() > now) {
        // Those that paused again meanwhile are last.
        context_.slowed.insert(context_.slowed.begin(),
                               slowed.begin() + static_cast<std::ptrdiff_t>(i), slowed.end());
        return;
      }
      context_.floods.begin_call();
      if (!slowed[i]->resume_slowed(now)) give_up(*slowed[i], {});
    }
  }

  milliseconds wait_time(milliseconds max_wait) const {
    auto until = Clock::time_point::max();
    if (timer_) until = *timer_;
    if (!active_.empty()) until = std::min(until, next_check_);
    if (!turns_.empty()) until = std::min(until, turns_.begin()->first);
    if (!context_.slowed.empty()) until = std::min(until, context_.options.rate->free_at());
    if (const auto due = resolver_->next_time()) until = std::min(until, *due);
    if (until == Clock::time_point::max()) return max_wait;
    const auto now = Clock::now();
    if (until <= now) return milliseconds(0);  // the difference may overflow
    return std::min(max_wait, std::chrono::ceil<milliseconds>(until - now));
  }

  // Ends transfers that failed outside libcurl.
  void end_failed() {
    if (failed_.empty()) return;
    for (Transfer* transfer : std::exchange(failed_, {}))
      end(*transfer, CURLE_ABORTED_BY_CALLBACK);
  }

  // Handling a response may take long. After a while the loop returns to the network, so that other
  // transfers do not time out; unfinished_ is then true.
  void finish_transfers() {
    constexpr std::chrono::microseconds kLongest{500};
    const auto begin = Clock::now();
    int left = 0;
    unfinished_ = false;
    while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const CURLcode code = message->data.result;
      char* found = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &found);
      Transfer& transfer = *reinterpret_cast<Transfer*>(found);
      if (transfer.try_other_addresses(code) || transfer.try_other_connection()) {
        relaunch(transfer);
        continue;
      }
      end(transfer, code);
      unfinished_ = left > 0;
      if (unfinished_ && Clock::now() - begin > kLongest) return;
    }
  }

  void end(Transfer& transfer, CURLcode code) {
    if (transfer.in_multi) remove(transfer);
    HttpResponse response = transfer.finish(code, Clock::now());
    if (!response.connection_was_stale) {
      stale_urls_.remove(transfer.url_hash);
    } else if (stale_urls_.add(transfer.url_hash)) {
      response.connection_was_stale = false;
    }
    const Done done = transfer.take_done();
    active_.back()->place = transfer.place;
    std::swap(active_[transfer.place], active_.back());
    active_.pop_back();
    std::erase(context_.stalled, &transfer);
    std::erase(context_.slowed, &transfer);
    auto& idle = transfer.proxy_text().empty() ? idle_ : idle_by_proxy_[transfer.proxy_text()];
    idle.push_back(&transfer);
    done(std::move(response));
  }

  static int on_timer(CURLM*, long timeout_ms, void* self) {
    auto& timer = static_cast<EpollHttpClient*>(self)->timer_;
    if (timeout_ms < 0) {
      timer.reset();
    } else {
      timer = Clock::now() + milliseconds(timeout_ms);
    }
    return 0;
  }

  static int on_socket(CURL*, curl_socket_t fd, int what, void* sockets, void*) {
    auto& watch = *static_cast<SocketPoller*>(sockets);
    if (what == CURL_POLL_REMOVE) {
      watch.ignore(fd);
    } else {
      watch.watch(fd, SocketPoller::Owner::kCurl, (what & CURL_POLL_IN) != 0,
                  (what & CURL_POLL_OUT) != 0);
    }
    return 0;
  }

  TransferContext context_;
  const milliseconds tick_;
  OneThread thread_;
  FileDescriptor wakeup_;
  std::atomic<bool> asleep_{false};  // waiting, or about to wait
  std::atomic<bool> woken_{false};   // wake() was called since the last wait
  CookieJars jars_;
  StaleUrls stale_urls_;
  std::optional<Clock::time_point> timer_;  // libcurl's
  Clock::time_point next_check_{};          // of the transfers' timeouts
  bool acted_ = false;                      // by send(), since the last wait
  bool unfinished_ = false;                 // finished transfers remain to be handled
  std::unique_ptr<CURLM, CurlMultiDelete> multi_;
  std::vector<std::unique_ptr<Transfer>> transfers_;  // all transfers, active and idle
  std::vector<Transfer*> active_;
  std::multimap<Clock::time_point, Lookup> turns_;  // transfers that wait for their turn
  std::vector<Transfer*> failed_;                   // failed outside libcurl, to be ended
  std::vector<Transfer*> idle_;
  std::unordered_map<std::string, std::vector<Transfer*>> idle_by_proxy_;
  std::unique_ptr<Resolver> resolver_;
};

}  // namespace

void HttpClient::set_up_libraries() {
  [[maybe_unused]] static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
}

Result<std::unique_ptr<HttpClient>> HttpClient::create(const HttpOptions& options) {
  auto sockets = SocketPoller::create();
  if (!sockets) return tl::unexpected(sockets.error());
  FileDescriptor wakeup(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (wakeup.get() < 0)
    return tl::unexpected(system_error(errno, "cannot set up the event loop of a fetcher thread"));
  auto client = std::make_unique<EpollHttpClient>(options, *std::move(sockets), std::move(wakeup));
  if (const auto started = client->start_resolver(); !started)
    return tl::unexpected(started.error());
  return client;
}

}  // namespace trawl
