// Addresses and the spaces they live in. An address of the application is a number here: it cannot be dereferenced by
// accident, neither in the simulator (another process) nor in the engine (where doing so wants a deliberate cast).
#pragma once

#include <cstdint>

namespace simrun {

// A byte address in an application's address space.
enum class AppAddress : uint64_t {};

constexpr uint64_t raw(AppAddress a) { return static_cast<uint64_t>(a); }
constexpr AppAddress operator+(AppAddress a, int64_t bytes) { return AppAddress{raw(a) + static_cast<uint64_t>(bytes)}; }
constexpr int64_t operator-(AppAddress a, AppAddress b) { return static_cast<int64_t>(raw(a) - raw(b)); }

}  // namespace simrun
