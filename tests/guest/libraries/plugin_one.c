// Loaded by memory/shared_library.c.
#include <string.h>

static __thread int calls;
int plugin_apply(int x) { return x + 1000 + 0 * ++calls + (int)strlen(""); }
