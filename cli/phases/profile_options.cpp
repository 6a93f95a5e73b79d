#include "cli/phases/profile_options.h"

#include <map>

#include "cli/command_line.h"

namespace simrun::cli {

void add_profile_options(CLI::App& app, ProfilerOptions& o) {
  static const Choices<simpoint::IntervalKind> kinds = {{"fixed", simpoint::IntervalKind::kFixed},
                                                        {"loop", simpoint::IntervalKind::kLoop},
                                                        {"procedure", simpoint::IntervalKind::kProcedure},
                                                        {"barrier", simpoint::IntervalKind::kBarrier}};
  app.add_option("-i,--interval", o.length, "Instructions of an interval")
      ->transform(instruction_count(kShortestInterval, kLongestInterval))
      ->type_name("N")
      ->default_str("10M");
  add_choice(app, "--intervals", o.kind,
             "fixed: of exactly that length; loop, procedure, barrier: at least that, until the next pass of a "
             "loop, call of a procedure, barrier or parallel region (OpenMP, POSIX threads)",
             kinds)
      ->default_str("fixed");
  app.add_option(
         "--leave-out", o.left_out,
         "Do not count this code: modules ('libgomp*': path or file name), functions ('app:spin_*', inlined ones, too) "
         "or addresses ('app:0x1200-0x1280', as a disassembler prints them). What threads do while they wait depends "
         "on the host. Several may be given")
      ->check(CLI::Validator(
          [](std::string& text) {
            std::string why;
            read_left_out(text, why);
            return why;
          },
          ""))
      ->type_name("PATTERN");
  app.add_flag(
      "--exact-order", o.from_trace,
      "Profile from a trace, at three times the cost: intervals of several threads end at one instruction, not when "
      "a thread next reports (a 32nd of an interval)");
  app.add_flag_callback(
      "--no-strings", [&o] { o.strings = false; },
      "Vectors of instructions only. Otherwise each thread has one dimension more, of module [strings]: what its repeated string "
      "instructions went over, in pieces of 16 bytes. So the sum of a T line is the interval's instructions (that are counted) only "
      "with this option, and without --distances");
  app.add_flag("--distances", o.distances,
               "Vectors also say how far apart a thread's references to one line are (LRU stack distances), so that intervals which "
               "execute the same code on other data are told apart. From a trace, at about the cost of a simulation");
}

}  // namespace simrun::cli
