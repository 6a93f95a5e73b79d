// The functions that base/hdf5_module.h finds, by names that can be asked for.
#include "cli/hdf5_report.h"
#include "simpoint/read_hdf5_profile.h"
#include "simpoint/write_hdf5_profile.h"

using namespace simrun;

extern "C" {

std::string simrun_hdf5_report(const nlohmann::ordered_json& results) { return cli::hdf5_report(results); }

simpoint::ReadProfile simrun_read_hdf5_profile(const std::string& path, const simpoint::OnVector& on_vector) {
  return simpoint::read_hdf5_profile(path, on_vector);
}

std::unique_ptr<simpoint::ProfileWriter> simrun_make_hdf5_writer(const std::string& path) { return simpoint::make_hdf5_writer(path); }

}
