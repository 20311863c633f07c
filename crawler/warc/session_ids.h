// The session identifiers that index keys leave out of URLs, as the `surt` package knows them.
#pragma once

#include <string>

namespace trawl {

// Those of ASP.NET: "/(S(24 letters and digits))/" before a name with ".aspx". `path` is in lower
// case.
void strip_path_session_id(std::string& path);
// jsessionid, phpsessid, sid, aspsessionid, and cfid with cftoken; in any case of letters.
void strip_query_session_ids(std::string& query);

}  // namespace trawl
