#include "frontier/redis/redis_socket.h"

#include <array>
#include <cerrno>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

namespace trawl {
namespace {

std::string tls_error() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

}  // namespace

Result<RedisTls> RedisTls::create(const std::string& ca_file) {
  RedisTls tls;
  tls.context_.reset(SSL_CTX_new(TLS_client_method()));
  if (tls.context_ == nullptr)
    return error(ErrorCode::kNoSpace, "cannot set up TLS: " + tls_error());
  SSL_CTX_set_min_proto_version(tls.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(tls.get(), SSL_VERIFY_PEER, nullptr);
  if (ca_file.empty()) {
    SSL_CTX_set_default_verify_paths(tls.get());
  } else if (SSL_CTX_load_verify_locations(tls.get(), ca_file.c_str(), nullptr) != 1) {
    ERR_clear_error();
    return error(ErrorCode::kInvalidArgument,
                 fmt::format("{} has no certificates in PEM form that can be read", ca_file));
  }
  return tls;
}

void RedisTls::Free::operator()(SSL_CTX* context) const noexcept {
  SSL_CTX_free(context);
}
void RedisSocket::Free::operator()(SSL* ssl) const noexcept {
  SSL_free(ssl);
}

void RedisSocket::FreeAddresses::operator()(addrinfo* found) const noexcept {
  ::freeaddrinfo(found);
}

Result<RedisSocket> RedisSocket::start(const RedisAddress& address, const RedisTls* tls) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
  addrinfo* list = nullptr;
  const int failed =
      ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  RedisSocket socket(address);
  socket.found_.reset(list);
  socket.next_ = list;
  if (failed != 0) {
    return error(failed == EAI_AGAIN ? ErrorCode::kUnavailable : ErrorCode::kInvalidArgument,
                 fmt::format("cannot find the address of the Redis node {}: {}", address.text(),
                             ::gai_strerror(failed)));
  }
  if (const int why = socket.try_next_address(); why != 0)
    return tl::unexpected(socket.cannot_connect(why));
  if (tls != nullptr) socket.set_up_tls(*tls);
  return socket;
}

// Begins with the next address that can be begun with. 0 or the last error.
int RedisSocket::try_next_address() {
  int last = EADDRNOTAVAIL;
  while (next_ != nullptr) {
    const addrinfo& address = *std::exchange(next_, next_->ai_next);
    FileDescriptor socket(
        ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
    if (socket.get() < 0) {
      last = errno;
      continue;
    }
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    connected_ = ::connect(socket.get(), address.ai_addr, address.ai_addrlen) == 0;
    if (!connected_ && errno != EINPROGRESS) {
      last = errno;
      continue;
    }
    socket_ = std::move(socket);
    return 0;
  }
  return last;
}

Error RedisSocket::cannot_connect(int errno_value) const {
  Error why = system_error(errno_value,
                           fmt::format("cannot connect to the Redis node {}", address_.text()));
  return {ErrorCode::kUnavailable,
          why.message + "; check that it runs, and the addresses in cluster.redis"};
}

Result<bool> RedisSocket::connect_further() {
  if (!connected_) {
    pollfd waiting{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&waiting, 1, 0) <= 0) return false;
    int failed = 0;
    socklen_t size = sizeof(failed);
    ::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &failed, &size);
    if (failed != 0) {
      if (next_ == nullptr) return tl::unexpected(cannot_connect(failed));
      if (const int why = try_next_address(); why != 0) return tl::unexpected(cannot_connect(why));
      return false;
    }
    connected_ = true;
  }
  if (ssl_ != nullptr && !is_encrypted_) return shake_hands();
  return true;
}

void RedisSocket::set_up_tls(const RedisTls& tls) {
  ssl_.reset(SSL_new(tls.get()));
  SSL_set_bio(ssl_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  std::array<unsigned char, sizeof(in6_addr)> ip;
  const char* const host = address_.host.c_str();
  if (::inet_pton(AF_INET, host, ip.data()) == 1 || ::inet_pton(AF_INET6, host, ip.data()) == 1) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl_.get()), host);
  } else {
    SSL_set1_host(ssl_.get(), host);
    SSL_set_tlsext_host_name(ssl_.get(), host);
  }
}

Result<bool> RedisSocket::shake_hands() {
  std::string early;
  const bool received = receive(early);
  const int done = SSL_connect(ssl_.get());
  take_encrypted();
  const bool intact = send() && received;
  if (done == 1) {
    is_encrypted_ = true;
    return true;
  }
  if (SSL_get_error(ssl_.get(), done) != SSL_ERROR_WANT_READ) {
    const long verified = SSL_get_verify_result(ssl_.get());
    std::string why = verified != X509_V_OK ? X509_verify_cert_error_string(verified) : tls_error();
    ERR_clear_error();
    return error(
        ErrorCode::kPermission,
        fmt::format(
            "no TLS connection to the Redis node {}: {}; check cluster.tls, and that its "
            "certificate is for this name and signed by a trusted authority (cluster.ca_file)",
            address_.text(), why));
  }
  if (intact) return false;
  return error(ErrorCode::kUnavailable,
               fmt::format("the Redis node {} does not answer in TLS; check cluster.tls and that "
                           "this is its port for TLS",
                           address_.text()));
}

short RedisSocket::events() const noexcept {
  if (!connected_) return POLLOUT;
  return static_cast<short>(POLLIN | (has_unsent() ? POLLOUT : 0));
}

void RedisSocket::queue(std::string_view bytes) {
  if (ssl_ == nullptr) {
    out_.append(bytes);
    return;
  }
  // A buffer in memory takes everything.
  for (std::size_t part; !bytes.empty(); bytes.remove_prefix(part)) {
    part = std::min<std::size_t>(bytes.size(), 1 << 24);
    if (SSL_write(ssl_.get(), bytes.data(), static_cast<int>(part)) <= 0) break;
  }
  take_encrypted();
}

void RedisSocket::take_encrypted() {
  BIO* const produced = SSL_get_wbio(ssl_.get());
  char* start = nullptr;
  const long size = BIO_get_mem_data(produced, &start);
  if (size <= 0) return;
  out_.append(start, static_cast<std::size_t>(size));
  (void)BIO_reset(produced);
}

bool RedisSocket::send() {
  while (has_unsent()) {
    const ssize_t n = ::send(socket_.get(), out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN || errno == EINTR;
    sent_ += static_cast<std::size_t>(n);
  }
  out_.clear();
  sent_ = 0;
  return true;
}

bool RedisSocket::receive(std::string& out) {
  std::array<char, 1 << 16> bytes;
  const ssize_t n = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  if (ssl_ == nullptr) {
    out.append(bytes.data(), static_cast<std::size_t>(n));
    return true;
  }
  BIO_write(SSL_get_rbio(ssl_.get()), bytes.data(), static_cast<int>(n));
  if (!SSL_is_init_finished(ssl_.get())) return true;
  for (;;) {
    const int plain = SSL_read(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
    if (plain > 0) {
      out.append(bytes.data(), static_cast<std::size_t>(plain));
      continue;
    }
    take_encrypted();
    return SSL_get_error(ssl_.get(), plain) == SSL_ERROR_WANT_READ;
  }
}

}  // namespace trawl
