// UnreliableFrontier: a frontier that is out of reach at every third call.
#pragma once

#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/frontier_decorator.h"

namespace trawl::test {

class UnreliableFrontier final : public FrontierDecorator<UnreliableFrontier> {
 public:
  explicit UnreliableFrontier(std::unique_ptr<Frontier> frontier)
      : FrontierDecorator(std::move(frontier)) {}

  std::atomic<bool> gone{false};         // at every call
  mutable std::atomic<int> refused = 0;  // so many were

 private:
  friend FrontierDecorator;

  template <class Call>
  auto forward(Call&& call) const -> std::invoke_result_t<Call> {
    if (!gone && calls_.fetch_add(1) % 3 != 2) return call();
    ++refused;
    return error(ErrorCode::kUnavailable, "the frontier is out of reach");
  }

  mutable std::atomic<int> calls_ = 0;
};

}  // namespace trawl::test
