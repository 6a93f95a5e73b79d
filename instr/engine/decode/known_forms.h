// Forms of instructions that most programs have, learnt when simrun was built (known_forms.txt, make_known_forms.cpp): constants of the
// engine, in pages that all processes share. A short run has most of its forms from here.
//
// known_forms.txt has an instruction for each, its numbers 0: those that 10 or more of 72 ordinary commands of Debian 12 met while they
// ran (ls, grep, bash, python3, gcc, git, openssl, sqlite3, ...). What is missing there is learnt as ever.
#pragma once

#include <array>
#include <cstdint>

#include "instr/engine/decode/form_cache.h"

namespace simrun::engine {

constexpr uint64_t hash_of(const Form::Key& key) { return key[0] * 0x9e3779b97f4a7c15u ^ key[1] * 0xc2b2ae3d27d4eb4fu; }

class KnownForms {
 public:
  // nullptr: not known.
  const Form* find(const Form::Key& key) const {
    for (uint32_t k = place_of(key); slots_[k] != 0; k = (k + 1) % kSlots)
      if (const Form& form = forms_[slots_[k] - 1u]; form.key == key) return &form;
    return nullptr;
  }
  // The form of the instruction in these 15 bytes. False: there is no room, or it is none that is remembered, or known already.
  bool add(const uint8_t* code);

 private:
  static constexpr uint32_t kSlots = 16384, kMost = 5200;
  static uint32_t place_of(const Form::Key& key) { return static_cast<uint32_t>(hash_of(key) >> 50); }
  static_assert(kSlots == 1u << (64 - 50));

  std::array<uint16_t, kSlots> slots_;   // by hash, the next one when it is taken: 0 or one more than the index of the form
  uint32_t used_;
  std::array<Form, kMost> forms_;
};

extern "C" const KnownForms simrun_known_forms;

}  // namespace simrun::engine
