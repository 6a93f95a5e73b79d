// Something for a compiler to do: macros that unfold into a few hundred functions, with loops, switches and structures.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Item {
  int key;
  double weight;
  char name[16];
  struct Item* next;
};

#define ONE(n)                                                                       \
  static int hash_##n(const char* s) {                                               \
    unsigned h = n;                                                                  \
    while (*s) h = h * 31 + (unsigned char)*s++;                                     \
    return (int)(h % 1009);                                                          \
  }                                                                                  \
  static double walk_##n(const struct Item* i) {                                     \
    double sum = 0;                                                                  \
    for (; i; i = i->next) switch (i->key % 7) {                                     \
        case 0: sum += i->weight; break;                                             \
        case 1: sum -= i->weight * n; break;                                         \
        case 2: sum *= 1.5; break;                                                   \
        case 5: sum += hash_##n(i->name); break;                                     \
        default: sum += i->key > n ? 1 : -1;                                         \
      }                                                                              \
    return sum;                                                                      \
  }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
TEN(1) TEN(2) TEN(3) TEN(4) TEN(5)

int main(void) {
  struct Item* list = NULL;
  for (int i = 0; i < 100; ++i) {
    struct Item* item = calloc(1, sizeof *item);
    item->key = i;
    item->weight = i / 3.0;
    snprintf(item->name, sizeof item->name, "item %d", i);
    item->next = list;
    list = item;
  }
#define USE(n) printf("%f\n", walk_##n(list));
#define USE_TEN(n) USE(n##0) USE(n##1) USE(n##2) USE(n##3) USE(n##4) USE(n##5) USE(n##6) USE(n##7) USE(n##8) USE(n##9)
  USE_TEN(1) USE_TEN(2) USE_TEN(3) USE_TEN(4) USE_TEN(5)
  return 0;
}
