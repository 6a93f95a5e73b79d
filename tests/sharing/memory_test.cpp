// Call stacks and places from events, without a program.
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "analysis/memory/address_space.h"
#include "analysis/memory/call_stack.h"
#include "analysis/sharing/describe_places.h"

namespace simrun::analysis {
namespace {

using Frames = std::vector<uint64_t>;

TEST(CallStack, AllocationReturnsToItsCaller) {
  CallStack stack;
  stack.call(0x1000, 0xa1);
  stack.call(0xff0, 0xa2);  // malloc
  const uint64_t arguments[] = {24, 0, 0};
  EXPECT_TRUE(stack.enter(AllocatorKind::kSize0, arguments));
  stack.call(0xfe0, 0xa3);  // within malloc
  EXPECT_FALSE(stack.enter(AllocatorKind::kSize0, arguments));
  EXPECT_FALSE(stack.finish(0xfe0, 0x77));
  const auto done = stack.finish(0xff0, 0x5000);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->result, 0x5000u);
  EXPECT_EQ(requested_bytes(done->kind, done->arguments), 24u);
  EXPECT_EQ(done->frames, (Frames{0xa2, 0xa1}));
  EXPECT_EQ(stack.frames(8), (Frames{0xa1}));
}

TEST(CallStack, TailCallsReturnForTheirCallers) {
  CallStack stack;
  stack.call(0x1000, 0xa1);  // make(), which jumps to malloc
  const uint64_t arguments[] = {8, 0, 0};
  stack.enter(AllocatorKind::kSize0, arguments);
  EXPECT_EQ(stack.finish(0x1000, 0x5000)->frames, (Frames{0xa1}));
}

TEST(CallStack, WhatALongjmpLeftBehindGoes) {
  CallStack stack;
  stack.call(0x1000, 0xa1);
  stack.call(0xf00, 0xa2);
  const uint64_t arguments[] = {8, 0, 0};
  stack.enter(AllocatorKind::kSize0, arguments);  // never returns
  stack.call(0xff0, 0xb1);                        // from the frame that was jumped to
  EXPECT_EQ(stack.frames(8), (Frames{0xb1, 0xa1}));
  EXPECT_FALSE(stack.finish(0xff0, 0x1234));
  EXPECT_TRUE(stack.finish(0x1000, 1) == std::nullopt);
  stack.call(0x1000, 0xc1);
  EXPECT_TRUE(stack.enter(AllocatorKind::kSize0, arguments));
}

TEST(CallStack, PosixMemalignTellsItsBlockByWhatItCalled) {
  CallStack stack;
  stack.call(0x1000, 0xa1);
  const uint64_t arguments[] = {0xfff0, 64, 100};
  stack.enter(AllocatorKind::kByPointer, arguments);
  stack.call(0xfe0, 0xa2);
  EXPECT_FALSE(stack.finish(0xfe0, 0x5040));
  const auto done = stack.finish(0x1000, 0);
  EXPECT_EQ(done->result, 0x5040u);
  EXPECT_EQ(requested_bytes(done->kind, done->arguments), 100u);
  stack.call(0x1000, 0xa1);
  stack.enter(AllocatorKind::kByPointer, arguments);
  EXPECT_EQ(stack.finish(0x1000, 12)->result, 0u);  // ENOMEM
}

TEST(AddressSpace, BlocksComeAndGo) {
  AddressSpace space;
  space.set_break(0x10000);
  space.set_break(0x20000);
  const uint64_t frames[] = {0xa1};
  const uint32_t site = space.call_site(frames);
  EXPECT_EQ(space.call_site(frames), site);
  space.allocate(0x11000, 32, 1, site);
  EXPECT_EQ(space.place(0x1101f), (Place{PlaceKind::kHeap, 0, 31}));
  EXPECT_EQ(space.place(0x11020).kind, PlaceKind::kBreak);
  EXPECT_EQ(space.place(0x20000).kind, PlaceKind::kUnknown);
  const Place place = space.place(0x11000);
  space.release(0x11000);
  EXPECT_EQ(space.place(0x11000).kind, PlaceKind::kBreak);
  EXPECT_EQ(space.block(place).bytes, 32u);  // what it was stays known
}

TEST(AddressSpace, ReleaseThatStandsAfterTheNextAllocationInVirtualTime) {
  AddressSpace space;
  space.allocate(0x11000, 32, 1, 0);
  space.allocate(0x11000, 32, 2, 0);  // thread 2 got it after thread 1 had freed it
  space.release(0x11000);             // which is heard of now
  EXPECT_EQ(space.place(0x11000), (Place{PlaceKind::kHeap, 1, 0}));
  space.release(0x11000);
  EXPECT_EQ(space.place(0x11000).kind, PlaceKind::kUnknown);
}

TEST(AddressSpace, MappingsAreCut) {
  AddressSpace space;
  space.map_memory(0x100000, 0x4000, 0, 0, false);
  space.unmap(0x101000, 0x1000);
  EXPECT_EQ(space.place(0x100fff).kind, PlaceKind::kMapping);
  EXPECT_EQ(space.place(0x101000).kind, PlaceKind::kUnknown);
  EXPECT_EQ(space.place(0x102000), (Place{PlaceKind::kMapping, 0, 0x2000}));
  space.map_memory(0x0ff000, 0x10000, 0, 0, true);
  EXPECT_EQ(space.place(0x102000), (Place{PlaceKind::kMapping, 1, 0x3000}));
  space.unmap_at(0x0ff000);
  EXPECT_EQ(space.place(0x102000).kind, PlaceKind::kUnknown);
}

TEST(AddressSpace, StacksOfThreads) {
  AddressSpace space;
  space.start_thread(0, 0x7f0000001000, 0x7fffffffe000);
  space.map_memory(0x7e0000000000, 0x100000, 0, 0, false);
  space.start_thread(1, 0x7e00000ff700, 0x7e00000fe000);
  EXPECT_EQ(space.place(0x7fffffffd000).kind, PlaceKind::kStack);
  EXPECT_EQ(space.place(0x7fffffffd000).id, 0u);
  EXPECT_EQ(space.place(0x7e0000080000).kind, PlaceKind::kStack);
  EXPECT_EQ(space.place(0x7e0000080000).id, 1u);
  EXPECT_EQ(space.place(0x7e00000ff6f0), (Place{PlaceKind::kThread, 1, 0x10}));
}

// Go has its threads' stacks, and what it says of a thread, in its own heap.
TEST(AddressSpace, StacksWithinALargerMapping) {
  AddressSpace space;
  space.map_memory(0xc000000000, 0x4000000, 0, 0, false);
  space.start_thread(1, 0xc000060098, 0xc000044000);
  EXPECT_EQ(space.place(0xc000043ff0), (Place{PlaceKind::kStack, 1, 0x10}));
  EXPECT_EQ(space.place(0xc000041000).kind, PlaceKind::kStack);
  EXPECT_EQ(space.place(0xc000040000).kind, PlaceKind::kMapping);
  EXPECT_EQ(space.place(0xc000050000).kind, PlaceKind::kMapping);
  EXPECT_EQ(space.place(0xc000060090).kind, PlaceKind::kMapping);
  EXPECT_EQ(space.place(0xc003fffff8).kind, PlaceKind::kMapping);
  space.map_memory(0x7d0000000000, 0x1000000, 0, 0, false);   // a pool of stacks
  space.start_thread(2, 0x7d00000ff700, 0x7d00000fe000);
  EXPECT_EQ(space.place(0x7d00000ff6f0), (Place{PlaceKind::kThread, 2, 0x10}));
  EXPECT_EQ(space.place(0x7d00000fdff0), (Place{PlaceKind::kStack, 2, 0x10}));
  EXPECT_EQ(space.place(0x7d0000200000).kind, PlaceKind::kMapping);
}

// As lld lays it out: the code begins in the page of the file that the headers are in. With 64 thread-local bytes.
std::string made_module() {
  struct {
    Elf64_Ehdr header{};
    Elf64_Phdr segments[3]{};
    char rest[0xf90]{};
  } file;
  std::copy_n(ELFMAG, SELFMAG, file.header.e_ident);
  file.header.e_ident[EI_CLASS] = ELFCLASS64;
  file.header.e_ident[EI_DATA] = ELFDATA2LSB;
  file.header.e_ident[EI_VERSION] = EV_CURRENT;
  file.header.e_type = ET_DYN;
  file.header.e_machine = EM_X86_64;
  file.header.e_version = EV_CURRENT;
  file.header.e_phoff = sizeof file.header;
  file.header.e_ehsize = sizeof file.header;
  file.header.e_phentsize = sizeof file.segments[0];
  file.header.e_phnum = 3;
  file.segments[0] = {PT_LOAD, PF_R, 0, 0, 0, 0xe3c, 0xe3c, 0x1000};
  file.segments[1] = {PT_LOAD, PF_R | PF_X, 0xe40, 0x1e40, 0x1e40, 0x1c0, 0x1c0, 0x1000};
  file.segments[2] = {PT_TLS, PF_R, 0, 0, 0, 0, 64, 64};
  const auto path = std::filesystem::temp_directory_path() / ("simrun_memory_test." + std::to_string(getpid()));
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&file), sizeof file);
  return path;
}

TEST(AddressSpace, CodeThatSharesAPageOfTheFile) {
  const std::string path = made_module();
  AddressSpace space;
  EXPECT_EQ(space.map_module(path, 0x10000, 0x12000, 0x11000, 0), 0);
  EXPECT_EQ(space.code_place(0x11e50), (Place{PlaceKind::kModule, 0, 0x1e50}));
  std::filesystem::remove(path);
}

TEST(AddressSpace, WhatIsMappedBehindAModuleIsNotIts) {
  const std::string path = made_module();
  AddressSpace space;
  space.map_memory(0x12000, 0x2000, 0, 0, false);
  EXPECT_EQ(space.map_module(path, 0x10000, 0x14000, 0x11000, 0), 0);   // as /proc/PID/maps has them: anonymous memory behind
  EXPECT_EQ(space.place(0x11ff0).kind, PlaceKind::kModule);
  EXPECT_EQ(space.place(0x12000).kind, PlaceKind::kMapping);
  std::filesystem::remove(path);
}

TEST(AddressSpace, CallersInALibraryThatIsUnloadedStayIts) {
  const std::string path = made_module(), other = path + ".other";
  std::filesystem::copy_file(path, other);
  AddressSpace space;
  const uint64_t frames[] = {0x11e51};
  EXPECT_EQ(space.map_module(path, 0x10000, 0x12000, 0x11000, 0), 0);
  const uint32_t site = space.call_site(frames);
  EXPECT_EQ(space.call_site(frames), site);
  space.unmap(0x10000, 0x2000);
  EXPECT_EQ(space.map_module(other, 0x10000, 0x12000, 0x11000, 0), 1);
  EXPECT_EQ(space.calls(site).at(0), (Place{PlaceKind::kModule, 0, 0x1e50}));
  EXPECT_EQ(space.calls(space.call_site(frames)).at(0), (Place{PlaceKind::kModule, 1, 0x1e50}));
  EXPECT_EQ(space.return_addresses(site).at(0), 0x11e51u);
  std::filesystem::remove(path);
  std::filesystem::remove(other);
}

TEST(PlaceNames, CallersInCodeWithoutSymbolsAreNamedByTheirFile) {
  const std::string path = made_module(), file = std::filesystem::path(path).filename();
  AddressSpace space;
  const uint64_t frames[] = {0x11e51, 0x20005};
  space.map_module(path, 0x10000, 0x12000, 0x11000, 0);
  space.allocate(0x30000, 8, 0, space.call_site(frames));
  space.map_memory(0x40000, 0x1000, 0, space.call_site(frames), false);
  const DataName block = PlaceNames(space).data(space.place(0x30000));
  EXPECT_EQ(block.object, "heap block of 8 bytes allocated at ? (" + file + "+0x1e51)");
  EXPECT_EQ(block.allocated_by, (std::vector<std::string>{"? (" + file + "+0x1e51)", "0x20005"}));
  EXPECT_EQ(PlaceNames(space).data(space.place(0x40000)).object, "mapping of 4096 bytes mapped at ? (" + file + "+0x1e51)");
  std::filesystem::remove(path);
}

TEST(AddressSpace, CodeThatIsUnloadedKeepsItsNameUntilOtherMemoryIsThere) {
  const std::string path = made_module();
  AddressSpace space;
  space.map_module(path, 0x10000, 0x12000, 0x11000, 0);
  space.unmap(0x10000, 0x2000);
  EXPECT_EQ(space.code_place(0x11e50), (Place{PlaceKind::kModule, 0, 0x1e50}));
  EXPECT_EQ(space.place(0x11e50).kind, PlaceKind::kUnknown);
  space.map_memory(0x11000, 0x1000, 0, 0, false);
  EXPECT_EQ(space.code_place(0x11e50).kind, PlaceKind::kUnknown);
  EXPECT_EQ(space.code_place(0x12000).kind, PlaceKind::kUnknown);
  std::filesystem::remove(path);
}

TEST(AddressSpace, TheFirstStackIsNearWhereItBegan) {
  AddressSpace space;
  space.start_thread(0, 0x7f0000001000, 0x7fffffffe000);
  EXPECT_EQ(space.place(0x7fffffffe000 - (100 << 20)).kind, PlaceKind::kStack);
  EXPECT_EQ(space.place(0x7fffffffe000 - (150 << 20)).kind, PlaceKind::kUnknown);   // where the kernel maps
}

TEST(AddressSpace, ThreadsThatHaveEnded) {
  AddressSpace space;
  space.start_thread(0, 0x7f0000001000, 0x7fffffffe000);
  space.map_memory(0x7e0000000000, 0x100000, 0, 0, false);
  space.start_thread(1, 0x7e00000ff700, 0x7e00000fe000);
  space.start_thread(2, 0x7e00000ff700, 0x7e00000fe000);  // before it is heard that 1 has ended
  EXPECT_EQ(space.place(0x7e0000080000), (Place{PlaceKind::kStack, 2, 0x80000}));
  EXPECT_EQ(space.place(0x7e00000ff6f0), (Place{PlaceKind::kThread, 2, 0x10}));
  space.end_thread(1);
  space.end_thread(2);
  EXPECT_EQ(space.place(0x7e0000080000).kind, PlaceKind::kMapping);
  space.end_thread(0);
  EXPECT_EQ(space.place(0x7fffffffd000).kind, PlaceKind::kStack);  // it is still there
  EXPECT_EQ(space.place(0x7fffffffd000).id, 0u);
}

TEST(AddressSpace, FirstThreadsThreadLocalMemory) {
  const std::string path = made_module();
  AddressSpace space;
  space.map_module(path, 0x10000, 0x12000, 0x11000, 0);
  space.map_memory(0x7f0000000000, 0x3000, 0, 0, false);
  space.start_thread(0, 0x7f0000001740, 0x7fffffffe000);
  EXPECT_EQ(space.place(0x7f0000001700), (Place{PlaceKind::kThread, 0, 0x40}));
  EXPECT_EQ(space.place(0x7f0000001748).kind, PlaceKind::kThread);
  EXPECT_EQ(space.place(0x7f0000000000).kind, PlaceKind::kMapping);
  space.set_break(0x500000);  // of a static program
  space.set_break(0x521000);
  space.set_thread_pointer(0, 0x500700);
  EXPECT_EQ(space.place(0x5006c0), (Place{PlaceKind::kThread, 0, 0x40}));
  EXPECT_EQ(space.place(0x500600), (Place{PlaceKind::kBreak, 0, 0x600}));
  std::filesystem::remove(path);
}

TEST(AddressSpace, StackOfAProcessThatWasForked) {
  AddressSpace space;
  space.start_thread(0, 0x7f0000001000, 0x7fffffffe000);
  AddressSpace child = space;
  child.start_thread(3, 0x7f0000001000, 0x7fffffffd000);
  EXPECT_EQ(child.place(0x7fffffffc000), (Place{PlaceKind::kStack, 3, 0x1000}));
}

TEST(AddressSpace, FilesThatAreNoModules) {
  AddressSpace space;
  EXPECT_EQ(space.map_module("/etc/passwd", 0x1000, 0x2000, 0x1000, 0), -1);
  EXPECT_EQ(space.code_place(0x1000).kind, PlaceKind::kUnknown);
  EXPECT_TRUE(space.functions_at(0x1000, {"main"}).empty());
}

}  // namespace
}  // namespace simrun::analysis
