// build: -ldl
// A shared object loaded, used and unloaded many times: its code comes and goes at the same addresses.
#include <dlfcn.h>
#include <libgen.h>

#include "tests/guest/guest.h"

int main(int argc, char** argv) {
  (void)argc;
  char folder[4096], path[2][4200];
  snprintf(folder, sizeof folder, "%s", argv[0]);
  dirname(folder);
  for (int i = 0; i < 2; ++i) snprintf(path[i], sizeof path[i], "%s/libplugin_%s.so", folder, i ? "two" : "one");
  for (int i = 0; i < 100; ++i) {
    void* library = dlopen(path[i % 2], i % 3 ? RTLD_NOW : RTLD_LAZY);
    CHECK(library != NULL);
    int (*apply)(int) = (int (*)(int))dlsym(library, "plugin_apply");
    CHECK(apply != NULL);
    CHECK_EQUAL(apply(i), i % 2 ? i * 3 : i + 1000);
    CHECK(dlclose(library) == 0);
  }
  CHECK(dlopen("libno_such_thing.so", RTLD_NOW) == NULL && dlerror() != NULL);
  return finish();
}
