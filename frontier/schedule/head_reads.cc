#include "frontier/schedule/head_reads.h"

#include <algorithm>

namespace trawl {

void HeadReads::merge(HostQueue& queue, QueueRead& read, const Changes& changes) {
  if (changes.dropped || !queue.has_rest() || queue.rest_after() != read.after) {
    read.urls.clear();
    return;
  }
  std::optional<QueueOrder> last;
  if (!read.urls.empty()) last = read.urls.back().order;
  const auto& added = changes.first_added;
  if (added && (read.ended || (last && *added <= *last))) {
    std::erase_if(read.urls, [&](const QueuedUrl& url) { return url.order >= *added; });
    queue.set_rest_from(*added);
  } else if (read.ended) {
    queue.set_no_rest();
  } else if (last) {
    queue.set_rest_after(*last);
  }
  if (changes.ended.empty()) return;
  std::erase_if(read.urls, [&](const QueuedUrl& url) {
    return std::ranges::find(changes.ended, url.order.sequence) != changes.ended.end();
  });
}

}  // namespace trawl
