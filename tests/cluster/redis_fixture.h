// RedisFixture: a redis-server of the test's own, and a client of it.
#pragma once

#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "frontier/redis/redis_client.h"
#include "tests/cluster/redis_servers.h"

namespace trawl::test {

// Skips the test where there is no redis-server; then there is no client either.
class RedisFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_REDIS();
    server_ = std::make_unique<RedisServer>();
    auto client = RedisClient::connect({.addresses = {server_->address()}});
    ASSERT_TRUE(client.has_value()) << client.error().message;
    client_ = std::move(*client);
  }

  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<RedisClient> client_;
};

}  // namespace trawl::test
