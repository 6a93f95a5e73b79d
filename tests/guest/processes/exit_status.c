// An exit status of its own, after atexit handlers and flushed streams.
#include "tests/guest/guest.h"

static void last(void) { puts("EXIT-SUCCESS"); }

int main(void) {
  atexit(last);
  fputs("unflushed, ", stdout);
  exit(213);
}
