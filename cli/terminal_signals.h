// What signals at simrun mean. From the terminal (Ctrl-C, Ctrl-\) they reach the program too, which is in the
// same process group: nothing to do but to survive and report. Sent to simrun by someone's kill(2), they are passed on
// to the program, as are all others but faults', those that stop, SIGPIPE, SIGXCPU and SIGXFSZ, unless they were sent to the group and it has them
// already; a signal that simrun found ignored (nohup, `&` in a script) too, and does nothing else; and a hang-up, if simrun leads the
// session. When the program is stopped, simrun stops too, for who waits for it to see. SIGCHLD wakes the consumer, so that the end of the program is noticed at once.
#pragma once

#include <sys/types.h>

#include <string>

#include "instr/channel/doorbell.h"
#include "instr/host/family.h"
#include "instr/host/guardian.h"

namespace simrun::cli {

// Before the launch: from here on simrun survives SIGINT, SIGQUIT, SIGTERM, SIGHUP and what it passes on. The calling thread is the one that
// handles them, whichever gets them, and the one to call the next two.
void install_signal_handlers();

// After the launch: where signals go, and who is woken. Signals that came in between are passed on now. Both must
// outlive the call of watch_nothing().
// `guardian`: who continues simrun when the program that it has stopped with goes on; null: it does not stop.
void watch(host::Family& family, channel::Doorbell& bell, host::Guardian* guardian);
void watch_nothing();

// Now and then, while a program is watched: real-time signals of which it is not known yet whether it has them already.
void pass_on_held_signals();

// No program runs, and none of what is done now is lost by an end: each of the first four ends simrun, which says `last_words` (one line, at most 4095
// bytes), until install_signal_handlers().
void let_signals_end_simrun(const std::string& last_words);

// How many of the first four came that were not ignored; the second after the program's end means: do not finish the
// simulation either.
int signals_seen();

// One of these that came when the program had ended already, so that it is simrun that is to end; 0: none has.
int signal_after_end();

// Ends this process by `signal`, as the program was, without a core file.
[[noreturn]] void end_by_signal(int signal);

}  // namespace simrun::cli
