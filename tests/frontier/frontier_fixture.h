// What the embedded frontier's tests share: a directory of their own.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "trawl/embedded_frontier.h"

#include "tests/frontier/frontier_calls.h"
#include "tests/support/temporary_directory.h"

namespace trawl::test {

class FrontierFixture : public ::testing::Test, protected FrontierCalls {
 protected:
  EmbeddedOptions options() const { return options_for(directory_.path() / "state"); }
  std::unique_ptr<Frontier> open() const { return open(options()); }
  static std::unique_ptr<Frontier> open(const EmbeddedOptions& options) {
    auto frontier = EmbeddedFrontier::open(options, &opened_);
    if (!frontier) throw std::runtime_error(frontier.error().message);
    return std::move(*frontier);
  }

  TemporaryDirectory directory_;
  inline static OpenReport opened_;  // by the last open()
};

}  // namespace trawl::test
