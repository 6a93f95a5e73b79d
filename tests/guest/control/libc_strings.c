// The C library's string functions (chosen at start for this processor) on every length and alignment up to some pages.

#include "tests/guest/guest.h"

static char a[20000], b[20000];

int main(void) {
  for (int length = 0; length < 300; ++length)
    for (int offset = 0; offset < 3; ++offset) {
      memset(a, 'q', 1000);
      memset(b, 0, 1000);
      a[offset + length] = 0;
      CHECK_EQUAL(strlen(a + offset), length);
      CHECK(strcpy(b + 1, a + offset) == b + 1 && strcmp(a + offset, b + 1) == 0);
      CHECK(memchr(a + offset, 0, length + 1) == a + offset + length);
      CHECK(strchr(a + offset, 'z') == NULL && strrchr(b + 1, 'q') == (length ? b + length : NULL));
      memmove(a + 3, a, length);
      memmove(a, a + 3, length);
      CHECK(memcmp(a, b + 1, length) == 0);
      b[1 + length] = 'x';
      CHECK(length == 0 || strncmp(a, b + 1, length) == 0);
    }
  for (int size = 1; size < 20000; size = size * 3 + 1) {
    for (int i = 0; i < size; ++i) a[i] = i * 31;
    memcpy(b, a, size);
    CHECK(memcmp(a, b, size) == 0);
    b[size - 1] ^= 1;
    CHECK(memcmp(a, b, size) != 0);
    memmove(b + 1, b, size - 1);
    CHECK(size < 3 || memcmp(a, b + 1, size - 1) == 0);
  }
  CHECK(strstr("a needle in a haystack", "in a h") != NULL);
  CHECK(strspn("aabbcx", "abc") == 5 && strcspn("hello", "l") == 2 && strcasecmp("HeLLo", "hEllO") == 0);
  return finish();
}
