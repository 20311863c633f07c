// The time and memory of LinkExtractor for any page: measured from outside, in a process of its
// own.
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trawl/links.h"

#include "base/thread_time.h"
#include "tests/support/repeated.h"
#include "tests/support/sanitized.h"

namespace trawl {
namespace {

using test::repeated;

struct Cost {
  double seconds = 0;    // of processor time
  double megabytes = 0;  // the most that was resident beyond the page
  bool finished = false;
};

// In a child process, since a process does not forget the most it once took.
Cost cost_of(const std::string& page, bool texts, LinkEngine engine) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    rusage before{};
    getrusage(RUSAGE_SELF, &before);
    const auto start = thread_time();
    LinkOptions options;
    options.kinds = LinkKinds::all();
    options.engine = engine;
    options.texts = texts;
    options.max_bytes = 64u << 20;
    const PageLinks links =
        extract_links(page, *Url::parse("http://site.example/dir/page.html"), options);
    Cost cost{.seconds = std::chrono::duration<double>(thread_time() - start).count()};
    rusage after{};
    getrusage(RUSAGE_SELF, &after);
    cost.megabytes = static_cast<double>(after.ru_maxrss - before.ru_maxrss) / 1024;
    cost.finished = links.links.size() <= page.size();
    const auto written = write(ends[1], &cost, sizeof(cost));
    _exit(written == sizeof(cost) ? 0 : 1);
  }
  close(ends[1]);
  Cost cost;
  if (read(ends[0], &cost, sizeof(cost)) != sizeof(cost)) cost = {};
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return cost;
}

std::string international_hosts() {
  const std::string label = "\xC3\xBC.";
  return repeated("<a href=\"//" + repeated(label, 60) + "a\">", 80'000);
}

TEST(LinkExtractorLimits, NoPageTakesASecondOr256MegaBytes) {
#ifdef TRAWL_SANITIZED
  GTEST_SKIP() << "sanitizers take time and memory of their own";
#endif
  struct Page {
    std::string_view name;
    std::string html;
    bool texts = false;
  };
  const Page pages[] = {
      {"100,000 nested <div>", repeated("<div>", 100'000)},
      {"150,000 nested tables", repeated("<table>", 150'000)},
      {"1,000,000 <option>", repeated("<option>", 1'000'000)},
      {"20,000 unclosed <a>", repeated("<a href=x>", 20'000)},
      {"50 MB of <", std::string(50'000'000, '<')},
      {"1,000,000 links", repeated("<a href=x>", 1'000'000)},
      {"750,000 texts", repeated("<a href=x>a text of thirty bytes, say", 750'000), true},
      {"long texts", repeated("<a href=x>" + std::string(200, 'a'), 250'000), true},
      {"nested texts", repeated("<a href=x>t<table><td>", 500'000), true},
      {"a text of 50 MB", "<a href=x>" + repeated("<b>&#32;", 6'250'000), true},
      {"international hosts", international_hosts()},
      {"one tag of attributes", "<a" + repeated(" a", 16'000'000)},
      {"nested <g>", "<svg>" + repeated("<g>", 10'000'000)},
      {"decoded attributes", repeated("<meta content=& name=&>", 1'000'000)},
      {"image candidates", "<img srcset='" + repeated("a,", 8'000'000) + "'>"},
      {"a style sheet", "<style>" + repeated("url(\\61)", 2'000'000) + "</style>"},
      {"a <select> of links", repeated("<select><a href=x></select>", 500'000)},
  };
  for (const LinkEngine engine : {LinkEngine::kScanner, LinkEngine::kGumbo}) {
    for (const auto& [name, html, texts] : pages) {
      const Cost cost = cost_of(html, texts, engine);
      const std::string what = fmt::format("{} by {}: {:.2f} s, {:.0f} MB", name, to_string(engine),
                                           cost.seconds, cost.megabytes);
      fmt::print("{}\n", what);
      EXPECT_TRUE(cost.finished) << what;
      // The contract of the engines, in the time of a processor that others do not take away.
      EXPECT_LE(cost.seconds, 1.0) << what;
      EXPECT_LE(cost.megabytes, 256 + 32) << what;
    }
  }
}

}  // namespace
}  // namespace trawl
