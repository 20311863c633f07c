// TlsServer: an HTTPS server on loopback with a certificate that its own CA signed.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "loopback_listener.h"

namespace trawl::test {

struct KeyDelete {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
struct CertificateDelete {
  void operator()(X509* certificate) const { X509_free(certificate); }
};

// A key and its certificate for a host; a CA's if it is self-signed.
struct Identity {
  std::unique_ptr<EVP_PKEY, KeyDelete> key;
  std::unique_ptr<X509, CertificateDelete> certificate;

  // Valid from an hour ago for `seconds`.
  static Identity make(const std::string& name, const Identity* issuer, long seconds = 100'000) {
    Identity made;
    made.key.reset(EVP_EC_gen("P-256"));
    made.certificate.reset(X509_new());
    X509* const x509 = made.certificate.get();
    X509_set_version(x509, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x509), issuer == nullptr ? 1 : 2);
    X509_gmtime_adj(X509_getm_notBefore(x509), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x509), seconds - 3600);
    X509_set_pubkey(x509, made.key.get());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509* const signer = issuer == nullptr ? x509 : issuer->certificate.get();
    X509_set_issuer_name(x509, X509_get_subject_name(signer));
    if (issuer == nullptr) {
      made.extend(NID_basic_constraints, "critical,CA:TRUE");
    } else {
      made.extend(NID_subject_alt_name, "DNS:" + name);
    }
    X509_sign(x509, (issuer == nullptr ? made : *issuer).key.get(), EVP_sha256());
    return made;
  }

  void extend(int what, const std::string& value) const {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, value.c_str());
    X509_add_ext(certificate.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  void write(const std::filesystem::path& file) const {
    std::FILE* const out = std::fopen(file.c_str(), "w");
    if (out == nullptr || PEM_write_X509(out, certificate.get()) != 1) std::abort();
    std::fclose(out);
  }
};

// Answers every request, one connection at a time, until its client closes it.
class TlsServer {
 public:
  explicit TlsServer(const Identity& identity) : context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_use_certificate(context_, identity.certificate.get());
    SSL_CTX_use_PrivateKey(context_, identity.key.get());
    listener_.emplace([this](int socket) { serve(socket); });
  }
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;
  ~TlsServer() {
    listener_.reset();
    SSL_CTX_free(context_);
  }
  std::string url(const std::string& host) const {
    return "https://" + host + ":" + listener_->port() + "/";
  }
  // Connections so far, and how many of them went on with an earlier one's session.
  int connections() const { return connections_.load(); }
  int resumed() const { return resumed_.load(); }

 private:
  void serve(int socket) {
    SSL* const tls = SSL_new(context_);
    SSL_set_fd(tls, socket);
    if (SSL_accept(tls) == 1) {
      connections_.fetch_add(1);
      resumed_.fetch_add(SSL_session_reused(tls));
      answer(tls);
    }
    SSL_free(tls);
  }
  static void answer(SSL* tls) {
    static constexpr std::string_view kAnswer =
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecure";
    std::string head;
    char byte;
    while (!head.ends_with("\r\n\r\n") && SSL_read(tls, &byte, 1) == 1)
      head += byte;
    SSL_write(tls, kAnswer.data(), static_cast<int>(kAnswer.size()));
    SSL_shutdown(tls);
  }

  SSL_CTX* const context_;
  std::atomic<int> connections_{0};
  std::atomic<int> resumed_{0};
  std::optional<LoopbackListener> listener_;
};

}  // namespace trawl::test
