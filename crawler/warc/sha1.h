// sha1_digest: the digests of WARC records, "sha1:" and 32 characters of base32.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/one_thread.h"

struct evp_md_ctx_st;

namespace trawl {

// One SHA-1 after another with one context. Not thread-safe.
class Sha1 {
 public:
  // The digest of the parts put together: "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ".
  std::string digest(std::string_view first, std::string_view second = {});

 private:
  void look_up();
  struct Free {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
  OneAtATime using_;
};

// The digest of `bytes`. Thread-safe; each thread keeps its context.
std::string sha1_digest(std::string_view bytes);

}  // namespace trawl
