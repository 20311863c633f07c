// A filter in C: prints each line of standard input when it comes for the first time, in a few bits
// of memory a line. With a file, lines of earlier runs are known too.
//
//   filter [FILE]
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <trawl/trawl.h>

static void check(trawl_status status, trawl_error** error) {
  if (status == TRAWL_OK) return;
  fprintf(stderr, "filter: %s\n", trawl_error_message(*error));
  exit(1);
}

int main(int argc, char** argv) {
  trawl_error* error = NULL;
  trawl_filter* filter = NULL;
  if (argc > 1 && access(argv[1], F_OK) == 0) {
    check(trawl_filter_open(trawl_str_of(argv[1]), 0, &filter, &error), &error);
  } else {
    trawl_filter_options options;
    trawl_filter_options_init(&options);
    options.capacity = 1000000;
    options.false_positive_rate = 1e-6;
    check(trawl_filter_create(&options, &filter, &error), &error);
  }
  char* line = NULL;
  size_t room = 0;
  for (ssize_t size; (size = getline(&line, &room, stdin)) >= 0;) {
    if (size > 0 && line[size - 1] == '\n') --size;
    const trawl_str key = {line, (size_t)size};  // any bytes
    int32_t is_new = 0;
    check(trawl_filter_add(filter, key, &is_new, &error), &error);
    if (!is_new) continue;
    fwrite(line, 1, key.size, stdout);
    putchar('\n');
  }
  free(line);
  if (argc > 1) check(trawl_filter_save(filter, trawl_str_of(argv[1]), &error), &error);
  trawl_filter_free(filter);
  return 0;
}
