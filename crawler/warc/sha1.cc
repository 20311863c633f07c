#include "crawler/warc/sha1.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include <openssl/evp.h>

namespace trawl {

namespace {

constexpr std::size_t kBytes = 20;

// RFC 4648. 160 bits are 32 characters of 5 each: no padding.
std::string base32(const unsigned char* bytes) {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::string text = "sha1:";
  std::uint32_t bits = 0;
  int held = 0;
  for (std::size_t i = 0; i < kBytes; ++i) {
    bits = bits << 8 | bytes[i];
    for (held += 8; held >= 5; held -= 5)
      text += kAlphabet[bits >> (held - 5) & 31];
  }
  return text;
}

}  // namespace

void Sha1::Free::operator()(evp_md_ctx_st* context) const noexcept {
  EVP_MD_CTX_free(context);
}

void Sha1::look_up() {
  context_.reset(EVP_MD_CTX_new());
  if (context_ == nullptr || EVP_DigestInit_ex(context_.get(), EVP_sha1(), nullptr) != 1)
    throw std::bad_alloc();
}

std::string Sha1::digest(std::string_view first, std::string_view second) {
  const OneAtATime::Use use(using_);
  // Once: to start again from a given algorithm is slow in OpenSSL 3. Not before it is needed,
  // since the first time takes OpenSSL longer than many a crawl's digests.
  if (context_ == nullptr) look_up();
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
  EVP_DigestInit_ex(context_.get(), nullptr, nullptr);
  EVP_DigestUpdate(context_.get(), first.data(), first.size());
  EVP_DigestUpdate(context_.get(), second.data(), second.size());
  EVP_DigestFinal_ex(context_.get(), bytes.data(), nullptr);
  return base32(bytes.data());
}

std::string sha1_digest(std::string_view bytes) {
  thread_local Sha1 sha1;
  return sha1.digest(bytes);
}

}  // namespace trawl
