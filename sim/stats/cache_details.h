// What is counted of one cache on request only (Hierarchy::keep_details): why it missed, how long its lines lived, how
// far apart its requests of a line were. docs/cache-model.md, "Details on request".
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace simrun::sim {

// Why a cache missed. All demand and software prefetch misses of it are in exactly one class.
struct MissClasses {
  uint64_t compulsory = 0;     // this cache never had the line
  uint64_t capacity = 0;       // lost by replacement, and a fully associative LRU cache of the size would miss too
  uint64_t conflict = 0;       // lost by replacement, but that one would hit
  uint64_t inclusion = 0;      // lost because an inclusive cache toward memory evicted it
  uint64_t true_sharing = 0;   // lost to another cache's write; see line_table.h
  uint64_t false_sharing = 0;  // likewise
  uint64_t flushed = 0;        // lost to a flush instruction
  uint64_t supplied_by_children = 0;  // a cache nearer the core has it, which this one does not include
  uint64_t coherence() const { return true_sharing + false_sharing; }
  uint64_t total() const {
    return compulsory + capacity + conflict + inclusion + coherence() + flushed + supplied_by_children;
  }
  bool operator==(const MissClasses&) const = default;
  MissClasses& operator+=(const MissClasses& o) {
    compulsory += o.compulsory, capacity += o.capacity, conflict += o.conflict, inclusion += o.inclusion;
    true_sharing += o.true_sharing, false_sharing += o.false_sharing, flushed += o.flushed;
    supplied_by_children += o.supplied_by_children;
    return *this;
  }
  MissClasses& operator-=(const MissClasses& o) {
    compulsory -= o.compulsory, capacity -= o.capacity, conflict -= o.conflict, inclusion -= o.inclusion;
    true_sharing -= o.true_sharing, false_sharing -= o.false_sharing, flushed -= o.flushed;
    supplied_by_children -= o.supplied_by_children;
    return *this;
  }
};

// Values by power of two: [0]: 0, [i]: 2^(i-1) up to 2^i - 1.
struct Histogram {
  static constexpr size_t kBuckets = 40;
  std::array<uint64_t, kBuckets> counts{};

  void add(uint64_t value) { ++counts[std::min<size_t>(std::bit_width(value), kBuckets - 1)]; }
  uint64_t total() const {
    uint64_t sum = 0;
    for (const uint64_t count : counts) sum += count;
    return sum;
  }
  uint64_t operator[](size_t bucket) const { return counts[bucket]; }
  bool operator==(const Histogram&) const = default;
  Histogram& operator+=(const Histogram& o) {
    for (size_t i = 0; i < kBuckets; ++i) counts[i] += o.counts[i];
    return *this;
  }
  Histogram& operator-=(const Histogram& o) {
    for (size_t i = 0; i < kBuckets; ++i) counts[i] -= o.counts[i];
    return *this;
  }
};

// Of the lines that left a cache; the histograms count lines.
struct LifetimeStatistics {
  uint64_t lines = 0;
  uint64_t unused = 0;      // no hit between fill and loss
  uint64_t references = 0;  // sum of the lifetimes, in references of the whole machine
  uint64_t hits = 0;        // sum over the lines
  Histogram by_lifetime, by_hits;
  bool operator==(const LifetimeStatistics&) const = default;
  LifetimeStatistics& operator+=(const LifetimeStatistics& o) {
    lines += o.lines, unused += o.unused, references += o.references, hits += o.hits;
    by_lifetime += o.by_lifetime, by_hits += o.by_hits;
    return *this;
  }
  LifetimeStatistics& operator-=(const LifetimeStatistics& o) {
    lines -= o.lines, unused -= o.unused, references -= o.references, hits -= o.hits;
    by_lifetime -= o.by_lifetime, by_hits -= o.by_hits;
    return *this;
  }
};

// Requests by reuse distance: how many other lines the cache was asked for since it was last asked for this one.
struct ReuseStatistics {
  uint64_t first = 0;       // no earlier request
  uint64_t taken_away = 0;  // another core's write or a flush took the line since
  Histogram by_distance;    // all others
  bool operator==(const ReuseStatistics&) const = default;
  ReuseStatistics& operator+=(const ReuseStatistics& o) {
    first += o.first, taken_away += o.taken_away, by_distance += o.by_distance;
    return *this;
  }
  ReuseStatistics& operator-=(const ReuseStatistics& o) {
    first -= o.first, taken_away -= o.taken_away, by_distance -= o.by_distance;
    return *this;
  }
};

struct CacheDetails {
  MissClasses classes;
  LifetimeStatistics lifetimes;
  ReuseStatistics reuse;
  bool operator==(const CacheDetails&) const = default;
  CacheDetails& operator+=(const CacheDetails& o) {
    classes += o.classes, lifetimes += o.lifetimes, reuse += o.reuse;
    return *this;
  }
  CacheDetails& operator-=(const CacheDetails& o) {
    classes -= o.classes, lifetimes -= o.lifetimes, reuse -= o.reuse;
    return *this;
  }
};

}  // namespace simrun::sim
