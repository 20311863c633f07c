"""Compiles the C++ of the documentation against the installed headers, and runs it."""

import re
import subprocess

TIMEOUT = 120
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Werror=unused-result", "-Werror=return-type"]
README_PRELUDE = r"""
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
struct Page {
  bool timed_out = false;
  int status = 0;
  std::vector<std::string> links = {};
};
// Asks the site on port $SITE_PORT of 127.0.0.1 for the path, whatever the host is.
Page my_fetch(const std::string& url) {
  const int site = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(std::atoi(std::getenv("SITE_PORT")));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(site, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return {true};
  const std::string path = url.substr(url.find('/', url.find("//") + 2));
  const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
  if (write(site, request.data(), request.size()) < 0) return {true};
  shutdown(site, SHUT_WR);
  std::string answer;
  char buffer[4096];
  for (ssize_t size; (size = read(site, buffer, sizeof buffer)) > 0;) answer.append(buffer, size);
  close(site);
  Page page;
  page.status = std::atoi(answer.c_str() + answer.find(' '));
  for (std::size_t at = 0; (at = answer.find("href=\"", at)) != answer.npos;) {
    at += 6;
    page.links.push_back(answer.substr(at, answer.find('"', at) - at));
  }
  return page;
}
"""
ROBOTS_PRELUDE = r"""
#include <string>
#include <trawl/robots.h>
using namespace trawl;
const std::string bytes =
    "User-agent: *\nDisallow: /private/\nCrawl-delay: 2\nSitemap: http://h.example/s.xml\n";
const Url url = *Url::parse("http://h.example/private/x");
"""
SITEMAPS_PRELUDE = r"""
#include <string>
#include <trawl/sitemap.h>
using namespace trawl;
const std::string bytes = "http://h.example/a\nhttp://h.example/b\n";
const Url url = *Url::parse("http://h.example/sitemap.txt");
int fetched = 0, pieces = 0;
void fetch(const Url&, std::optional<std::chrono::sys_seconds>) { ++fetched; }
bool more() { return ++pieces == 1; }
const std::string& piece = bytes;
void log(const std::string&) {}
"""
# What goes before and after a snippet that is not a program, and the pkg-config module it needs.
SURROUNDINGS = {
    "README.md": (README_PRELUDE, "return 0;", "trawl"),
    "filter/README.md": (
        "#include <cstdio>\n#include <trawl/growing_bloom_filter.h>\n",
        'return seen->insert(seen->hash()("http://example.com/")) ? 1 : 0;', "trawl-filter"),
    "docs/robots.md": (
        ROBOTS_PRELUDE, 'return !robots.allowed("trawl", url) && robots.decide("trawl", url).line == 2 && '
        'robots.crawl_delay("trawl") == std::chrono::seconds(2) && robots.sitemaps().size() == 1 ? 0 : 1;',
        "trawl-parse"),
    "docs/sitemaps.md": (SITEMAPS_PRELUDE, "return fetched == 4 ? 0 : 1;", "trawl-parse"),
}


def program_of(block):
    """The program that a snippet is, or becomes between its surroundings; None without any."""
    if re.search(r"^int main\(", block.text, re.MULTILINE):
        return block.text
    if block.page not in SURROUNDINGS:
        return None
    before, after, _ = SURROUNDINGS[block.page]
    lines = block.text.split("\n")
    outside = [line for line in lines if re.match(r"#include|using namespace", line)]
    inside = [line for line in lines if line not in outside]
    first = block.line + lines.index(inside[0]) + 1
    return "\n".join([before, *outside, "int main() {", f'#line {first} "{block.page}"', *inside,
                      '#line 1 "what follows the snippet"', after, "}", ""])


class Code:
    def __init__(self, build, directory, compiler):
        self.build, self.directory, self.compiler = build, directory, compiler
        self.prefix = directory / "prefix"
        self.run("cmake", "--install", build, "--prefix", self.prefix)
        self.modules = next(self.prefix.rglob("trawl.pc")).parent
        self.programs = 0

    def run(self, *command, **more):
        """Raises RuntimeError with the output unless the command succeeds."""
        try:
            finished = subprocess.run([str(each) for each in command], text=True, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT,
                                      check=False, **more)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{command[0]} does not end within {TIMEOUT} s") from None
        if finished.returncode != 0:
            raise RuntimeError(f"{command[0]} ends with {finished.returncode}\n{finished.stdout[-3000:]}")
        return finished.stdout

    def compile_c(self, block):
        """A complete program of the C interface."""
        self.programs += 1
        program = self.directory / f"program{self.programs}"
        source = program.with_suffix(".c")
        source.write_text(block.text)
        library = self.prefix / "lib"
        self.run("cc", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source, "-o", program,
                 f"-I{self.prefix}/include", f"-L{library}", "-ltrawl", f"-Wl,-rpath,{library}")
        return program

    def compile(self, block):
        """The compiled program. RuntimeError says what is wrong with it."""
        text = program_of(block)
        if text is None:
            raise RuntimeError("a snippet without surroundings: add them to documented_code.py")
        module = SURROUNDINGS.get(block.page, (None, None, "trawl"))[2]
        self.programs += 1
        source = self.directory / f"snippet{self.programs}.cc"
        source.write_text(text)
        flags = self.run("pkg-config", "--cflags", "--libs", module,
                         env={"PKG_CONFIG_PATH": str(self.modules), "PATH": "/usr/bin:/bin"})
        program = source.with_suffix("")
        self.run(*self.compiler.split(), *FLAGS, source, "-o", program, *flags.split())
        return program

    def build_project(self, lines, source, directory):
        """README's lines of CMake make a project of that source; returns its program."""
        directory.mkdir()
        (directory / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(user LANGUAGES C CXX)\nset(CMAKE_CXX_STANDARD 20)\n"
            "add_executable(scraper scraper.cc)\n"
            f"target_compile_options(scraper PRIVATE {' '.join(FLAGS[1:])})\n{lines}")
        (directory / "scraper.cc").write_text(source)
        self.run("cmake", "-S", directory, "-B", directory / "build", "-G", "Ninja",
                 f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={self.compiler.split()[0]}")
        self.run("cmake", "--build", directory / "build")
        return directory / "build" / "scraper"
