// Function pointers, qsort and bsearch with a comparison of our own, varargs with every register class, atexit order.
#include <stdarg.h>

#include "tests/guest/guest.h"

static int compare(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }
static int backward(const void* a, const void* b) { return compare(b, a); }

static double sum_of(const char* kinds, ...) {
  va_list list;
  va_start(list, kinds);
  double sum = 0;
  for (; *kinds; ++kinds) switch (*kinds) {
      case 'i':
        sum += va_arg(list, int);
        break;
      case 'l':
        sum += va_arg(list, long);
        break;
      case 'd':
        sum += va_arg(list, double);
        break;
      case 'x':
        sum += va_arg(list, long double);
        break;
      case 's':
        sum += strlen(va_arg(list, char*));
        break;
    }
  va_end(list);
  return sum;
}

static void last(void) { puts("EXIT-SUCCESS"); }
static void earlier(void) { puts("atexit runs backward"); }

int main(void) {
  int numbers[2000];
  for (int i = 0; i < 2000; ++i) numbers[i] = i * 7919 % 2003;
  qsort(numbers, 2000, sizeof *numbers, compare);
  for (int i = 1; i < 2000; ++i) CHECK(numbers[i - 1] <= numbers[i]);
  int key = numbers[700];
  CHECK(bsearch(&key, numbers, 2000, sizeof key, compare) == numbers + 700);
  qsort(numbers, 2000, sizeof *numbers, backward);
  for (int i = 1; i < 2000; ++i) CHECK(numbers[i - 1] >= numbers[i]);
  for (int i = 0; i < 300; ++i)
    CHECK(sum_of("idlxsdddddddddiiiiiiil", 1, 2.0, 3L, 4.0L, "five!", 1., 1., 1., 1., 1., 1., 1., 1., 1., i, 1, 1, 1, 1,
                 1, 1, 2L) == 15 + 9 + i + 6 + 2);
  char text[100];
  snprintf(text, sizeof text, "%d %s %.3f %Lg %c %lld", 1, "two", 3.0, 4.5L, '5', 6ll);
  puts(text);
  atexit(last);
  atexit(earlier);
  return 0;
}
