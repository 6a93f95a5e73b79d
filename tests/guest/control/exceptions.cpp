// C++ exceptions through many frames, with destructors, rethrown, nested, through function pointers and out of
// constructors.
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/guest/guest.h"

namespace {

int alive;
struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
};

[[gnu::noinline]] int thrower(int depth, int kind) {
  Counted c;
  if (depth) return thrower(depth - 1, kind) + 1;
  if (kind == 0) throw kind;
  if (kind == 1) throw std::runtime_error("one");
  if (kind == 2) throw std::string("two");
  return std::vector<int>(3).at(static_cast<size_t>(kind));
}

int catcher(int depth, int kind) {
  try {
    return thrower(depth, kind);
  } catch (int i) {
    return 100 + i;
  } catch (const std::out_of_range&) {
    return 200;
  } catch (const std::exception& e) {
    return 300 + e.what()[0];
  } catch (...) {
    return 400;
  }
}

struct ThrowsInConstructor {
  Counted member;
  std::unique_ptr<Counted> owned = std::make_unique<Counted>();
  ThrowsInConstructor() { throw std::logic_error("constructor"); }
};

void rethrow(int levels) {
  try {
    if (levels == 0) throw std::runtime_error("deep");
    rethrow(levels - 1);
  } catch (std::exception& e) {
    Counted c;
    throw;
  }
}

}  // namespace

int main() {
  for (int i = 0; i < 60; ++i) {
    CHECK_EQUAL(catcher(i % 20, 0), 100);
    CHECK_EQUAL(catcher(i % 20, 1), 300 + 'o');
    CHECK_EQUAL(catcher(i % 20, 2), 400);
    CHECK_EQUAL(catcher(i % 20, 3), 200);
    try {
      ThrowsInConstructor t;
      CHECK(false);
    } catch (const std::logic_error&) {
    }
    try {
      rethrow(5);
      CHECK(false);
    } catch (const std::runtime_error& e) {
      CHECK(std::string(e.what()) == "deep");
    }
    std::function<void()> f = [] { throw 7; };
    try {
      f();
    } catch (int seven) {
      CHECK_EQUAL(seven, 7);
    }
    CHECK_EQUAL(alive, 0);
  }
  return finish();
}
