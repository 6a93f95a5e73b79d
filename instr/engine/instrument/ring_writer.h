// The producer's side of a thread's ring, as far as emitted code does not do it: chunk switches and events (instr/border/stream.h).
// All functions run on the thread that owns the context, in the engine. Any time.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "instr/border/stream.h"
#include "instr/engine/context/thread_context.h"

namespace simrun::engine {

// Prepares the ring of a new thread.
void start_ring(ThreadContext* context);

// After the last word: the state that the thread is to have when it touches its slot no more. Whoever reads the ring frees the slot then.
border::ThreadState end_ring(ThreadContext* context);

// Works out what `limit` is when nobody wants the thread, from the mode, the chunk, and the budget.
void set_normal_limit(ThreadContext* context);

// How many words emitted code may store from one look at `limit` to the next superblock's beginning, whose own come then.
uint32_t most_unchecked_words();

// Makes `limit` what it is when nobody wants the thread; the caller looks for requests afterwards.
void restore_limit(ThreadContext* context);

// The current chunk is full as far as `limit` is concerned: goes to the next one, waits for space.
void switch_chunk_if_full(ThreadContext* context);

// Copies what the stage has into the ring, where the consumer may read it: before others may take the thread to be out of the code cache.
// The functions below do so with what they append.
void publish_words(ThreadContext* context);
// Behind what has been published, as border::HandOver has it.
uint64_t place_in_stream(const ThreadContext* context);
void note_hand_over(ThreadContext* context, uint64_t object, uint64_t units, uint64_t began, uint64_t time, uint64_t place);

void append_event(ThreadContext* context, border::Event event, std::initializer_list<uint64_t> payload);
void append_words(ThreadContext* context, border::Event event, const uint64_t* payload, uint32_t count);

// Completes a path whose `words` address words are in place already, as the exit of its superblock would have.
void append_path(ThreadContext* context, uint32_t path, uint32_t words);

// Tells the simulator what the thread is doing, and wakes it if it waits for someone.
void set_thread_state(ThreadContext* context, border::ThreadState state);
void wake_consumer();
// Also from a nap: of who is about to wait for it.
void call_consumer();
// The simrun process has ended: nobody reads streams or answers any more. Any time.
bool simulator_is_gone();

}  // namespace simrun::engine
