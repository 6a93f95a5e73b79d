// Loaded by memory/shared_library.c, at the address where plugin_one was.
#include <stdlib.h>

static int factor;
__attribute__((constructor)) static void set_up(void) { factor = abs(-3); }
int plugin_apply(int x) { return x * factor; }
