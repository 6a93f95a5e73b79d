// Sums of counts.
#include "sim/stats/statistics.h"

namespace simrun::sim {

CacheStatistics& CacheStatistics::operator+=(const CacheStatistics& o) {
  requests += o.requests;
  evictions += o.evictions;
  write_backs_out += o.write_backs_out;
  write_backs_in += o.write_backs_in;
  back_invalidations += o.back_invalidations;
  flushed_lines += o.flushed_lines;
  upgrades += o.upgrades;
  invalidations_sent += o.invalidations_sent;
  invalidations_received += o.invalidations_received;
  downgrades += o.downgrades;
  interventions += o.interventions;
  dirty_interventions += o.dirty_interventions;
  clean_supplies += o.clean_supplies;
  supplied_by_children += o.supplied_by_children;
  victims_in += o.victims_in;
  writes_passed_on += o.writes_passed_on;
  snoops_sent += o.snoops_sent;
  return *this;
}

CoreStatistics& CoreStatistics::operator+=(const CoreStatistics& o) {
  fetches += o.fetches;
  loads += o.loads;
  stores += o.stores;
  read_modify_writes += o.read_modify_writes;
  prefetches += o.prefetches;
  flushes += o.flushes;
  line_crossings += o.line_crossings;
  return *this;
}

}  // namespace simrun::sim
