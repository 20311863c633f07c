// HttpClient against servers whose HTTP/2 responses are mutated at random.
#include "mutated_http2.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loopback_listener.h"
#include "mutation_run.h"
#include "tls_server.h"

namespace trawl {
namespace {

using test::check_mutated;
using test::client_of;
using test::http2_settings;
using test::http2_settings_ack;
using test::Identity;
using test::is_late;
using test::LoopbackListener;
using test::mutated_http2;
using test::MutatedHttp2;
using test::mutation_options;
using test::mutation_seed;
using test::mutations;
using test::run_until_idle;

constexpr std::size_t kServers = 24;
constexpr std::uint64_t kOfOneServer = 20;  // which keeps a thread for each connection it had
const std::string kBody = "<html><p>" + std::string(20'000, 'b');

// Speaks HTTP/2 over TLS on loopback, a thread a connection. Answers every request with the
// mutation of the seed that was set last.
class MutatingHttp2Server {
 public:
  explicit MutatingHttp2Server(const Identity& identity)
      : context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_use_certificate(context_, identity.certificate.get());
    SSL_CTX_use_PrivateKey(context_, identity.key.get());
    SSL_CTX_set_alpn_select_cb(context_, &MutatingHttp2Server::choose, nullptr);
    listener_.emplace([this](int socket) { accept(::dup(socket)); });
  }
  MutatingHttp2Server(const MutatingHttp2Server&) = delete;
  MutatingHttp2Server& operator=(const MutatingHttp2Server&) = delete;
  ~MutatingHttp2Server() {
    listener_.reset();
    for (const int socket : sockets_)
      ::shutdown(socket, SHUT_RDWR);
    for (std::thread& thread : threads_)
      thread.join();
    for (const int socket : sockets_)
      ::close(socket);
    SSL_CTX_free(context_);
  }
  std::string url() const { return "https://localhost:" + listener_->port() + "/"; }
  void set_seed(std::uint64_t seed) { seed_ = seed; }

 private:
  static int choose(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char*,
                    unsigned, void*) {
    *chosen = reinterpret_cast<const unsigned char*>("h2");
    *size = 2;
    return SSL_TLSEXT_ERR_OK;
  }

  // Sockets stay open until the end, so that their numbers stay theirs; who has to see an end of
  // the connection is shown one.
  void accept(int socket) {
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket] {
      SSL* const tls = SSL_new(context_);
      SSL_set_fd(tls, socket);
      if (SSL_accept(tls) == 1 && send(tls, http2_settings())) serve(tls, socket);
      SSL_free(tls);
      ::shutdown(socket, SHUT_RDWR);
    });
  }

  void serve(SSL* tls, int socket) const {
    std::string bytes;
    if (!receive(tls, 24, bytes)) return;  // the preface
    bool greeted = false;
    while (receive(tls, 9, bytes)) {
      const std::string head = bytes;
      const auto at = [&head](std::size_t i) { return static_cast<unsigned char>(head[i]); };
      if (!receive(tls, at(0) * 65536u + at(1) * 256u + at(2), bytes)) return;
      if (head[3] != 1) continue;  // no HEADERS
      if (!greeted && !send(tls, http2_settings_ack())) return;
      greeted = true;
      if (!answer(tls, socket, at(7) * 256u + at(8))) return;
    }
  }

  bool answer(SSL* tls, int socket, std::uint32_t stream) const {
    const MutatedHttp2 response = mutated_http2(seed_, stream, kBody);
    for (const std::string& record : response.records) {
      if (!send(tls, record)) return false;
    }
    switch (response.end) {
      case MutatedHttp2::End::kKeepAlive:
        return true;
      case MutatedHttp2::End::kStall: {
        char ignored[256];
        while (::recv(socket, ignored, sizeof ignored, 0) > 0) {
        }
        return false;
      }
      case MutatedHttp2::End::kReset:
        ::shutdown(socket, SHUT_RDWR);
        return false;
      case MutatedHttp2::End::kClose:
        SSL_shutdown(tls);
        return false;
    }
    return false;
  }

  static bool send(SSL* tls, const std::string& bytes) {
    return bytes.empty() || SSL_write(tls, bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  static bool receive(SSL* tls, std::size_t size, std::string& into) {
    into.resize(size);
    for (std::size_t got = 0; got < size;) {
      const int n = SSL_read(tls, into.data() + got, static_cast<int>(size - got));
      if (n <= 0) return false;
      got += static_cast<std::size_t>(n);
    }
    return true;
  }

  SSL_CTX* const context_;
  std::atomic<std::uint64_t> seed_{0};
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::optional<LoopbackListener> listener_;
};

class MutatedHttp2Run {
 public:
  explicit MutatedHttp2Run(std::uint64_t seed) : seed_(seed | 1) {}

  // As many as the servers have connections for.
  bool fetch(std::uint64_t first, std::uint64_t count) {
    std::vector<std::unique_ptr<MutatingHttp2Server>> servers;
    for (std::size_t i = 0; i < kServers; ++i)
      servers.push_back(std::make_unique<MutatingHttp2Server>(identity_));
    MutatingHttp2Server good(identity_);
    next_ = first;
    end_ = first + count;
    start_ = [&](MutatingHttp2Server* server) {
      if (next_ == end_) return;
      const std::uint64_t number = next_++;
      server->set_seed(seed_ + 2 * number);
      client_->start({.url = server->url(), .max_body = test::kMutationBody},
                     [this, server, number](const HttpResponse& got) {
                       check_mutated(got, seed_ + 2 * number);
                       ++outcomes_[std::string(to_string(got.failure))];
                       start_(server);
                     });
      if (number % 4 == 0) fetch_good(good.url());
    };
    for (const auto& server : servers)
      start_(server.get());
    if (!run_until_idle(*client_)) return false;
    for (const auto& server : servers) {
      server->set_seed(0);
      fetch_good(server->url(), true);
    }
    return run_until_idle(*client_);
  }

  const std::map<std::string, int>& outcomes() const { return outcomes_; }
  std::uint64_t good() const { return good_; }

 private:
  // What mutations before may have done to the server's connection is worth another try.
  void fetch_good(const std::string& url, bool after_mutations = false, int tries = 5) {
    client_->start({.url = url, .max_body = test::kMutationBody},
                   [this, url, after_mutations, tries](const HttpResponse& got) {
                     const bool again = is_late(got) || (after_mutations && got.failure);
                     if (got.connection_was_stale || (again && tries > 1))
                       return fetch_good(url, after_mutations, tries - 1);
                     ++good_;
                     EXPECT_EQ(got.error, "");
                     EXPECT_TRUE(got.body == kBody);
                   });
  }

  const std::uint64_t seed_;
  const Identity identity_ = Identity::make("localhost", nullptr);
  const std::unique_ptr<HttpClient> client_ = client_of(mutation_options());
  std::uint64_t next_ = 0;
  std::uint64_t end_ = 0;
  std::function<void(MutatingHttp2Server*)> start_;
  std::map<std::string, int> outcomes_;
  std::uint64_t good_ = 0;
};

void fetch_http2_mutations(std::uint64_t usual) {
  std::signal(SIGPIPE, SIG_IGN);  // the servers' client goes away
  const std::uint64_t count = mutations(usual);
  MutatedHttp2Run run(mutation_seed());
  constexpr std::uint64_t kAtOnce = kServers * kOfOneServer;
  for (std::uint64_t first = 0; first < count; first += kAtOnce) {
    if (!run.fetch(first, std::min(kAtOnce, count - first))) return;
    if (::testing::Test::HasFailure()) return;
  }
  for (const auto& [failure, times] : run.outcomes())
    std::printf("%6d %s\n", times, failure.empty() ? "no failure" : failure.c_str());
  EXPECT_GE(run.good(), count / 4);
  EXPECT_GE(run.outcomes().size(), std::min<std::size_t>(count / 100, 3)) << "they are too alike";
}

TEST(MutatedHttp2, HarmsNoFetchButItsOwn) {
  fetch_http2_mutations(2'000);
}

TEST(MutatedHttp2Slow, HarmsNoFetchButItsOwn) {
  fetch_http2_mutations(100'000);
}

}  // namespace
}  // namespace trawl
