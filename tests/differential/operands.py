"""Operands of random instructions: which registers a sequence may use for what, and memory operands that stay within
the arena.

A sequence has some *pointer* registers (into the middle of the arena; moved a little now and then, never written
otherwise), one *index* register with a small value, and free registers for everything else. rsp points into the middle
of a stack of its own.
"""

NAMES = ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"] + ["r%d" % n for n in range(8, 16)]
RSP = 4
FS_BASE, GS_BASE = 0x140, 0x80
ARENA_BYTES = 2048


def register(number, width):
    name = NAMES[number]
    if width == 8:
        return "%" + name
    if number >= 8:
        return "%" + name + {4: "d", 2: "w", 1: "b"}[width]
    if width == 4:
        return "%e" + name[1:]
    if width == 2:
        return "%" + name[1:]
    return "%" + (name[1] + "l" if name[2] == "x" else name[1:] + "l")


class Operands:
    """Random choices for one sequence."""

    def __init__(self, random):
        self.random = random
        numbers = [n for n in range(16) if n != RSP]
        random.shuffle(numbers)
        self.pointers = numbers[:random.choice((1, 2, 2, 3))]
        self.index = numbers[len(self.pointers)]
        self.free = numbers[len(self.pointers) + 1:]
        self.moves = 0
        self.in_call = 0

    def set_up(self):
        lines = ["lea arena+%d(%%rip), %%%s" % (ARENA_BYTES // 2 + self.random.randrange(-128, 128), NAMES[p])
                 for p in self.pointers]
        return lines + ["mov $%d, %%%s" % (self.random.randrange(0, 32), register(self.index, 4)[1:])]

    def chance(self, probability):
        return self.random.random() < probability

    def writable(self, width, legacy=False):
        """A register that may be overwritten. legacy: one that needs no REX prefix, ah to bh among them."""
        if width == 1 and (legacy or self.chance(0.15)):
            choice = [n for n in self.free if n < 4]
            if choice and (legacy or self.chance(0.5)):
                n = self.random.choice(choice)
                return "%" + NAMES[n][1] + self.random.choice("hl")
        return register(self.random.choice(self.free), width)

    def readable(self, width):
        pool = list(range(16)) if self.chance(0.3) else self.free
        if width == 1 and pool is not self.free:
            pool = [n for n in pool if n != RSP]
        return register(self.random.choice(pool), width)

    def immediate(self, width):
        r = self.random
        bits = min(8 * width, 32)
        kind = r.randrange(4)
        if kind == 0:
            return r.randrange(-128, 128)
        if kind == 1:
            return r.choice((0, 1, -1, 2, (1 << (bits - 1)) - 1, -(1 << (bits - 1))))
        return r.randrange(-(1 << (bits - 1)), 1 << (bits - 1))

    def memory(self, aligned=0, no_stack=False):
        """A memory operand with at least 64 bytes of arena behind it. aligned: its address is a multiple of that."""
        r = self.random
        if aligned:
            return self.fixed(r.randrange(0, (ARENA_BYTES - 64) // aligned) * aligned)
        kind = r.randrange(20)
        if kind < 4:
            return self.fixed(r.randrange(0, ARENA_BYTES - 64))
        if kind < 6 and not no_stack:
            return self.on_stack()
        index = ",%" + NAMES[self.index] + self.scale()
        if kind == 6:
            return self.segment("arena+%d(" % r.randrange(0, ARENA_BYTES - 512) + index[0:] + ")")
        base = r.choice(self.pointers)
        displacement = self.displacement()
        if kind < 13:
            return self.segment("%s(%%%s)" % (displacement, NAMES[base]))
        if kind == 13:
            return "%s(%s,%s)" % (displacement, register(base, 4), register(self.index, 4))
        if kind == 14 and self.index != RSP:  # base and index change places
            return "%s(%%%s,%%%s)" % (displacement, NAMES[self.index], NAMES[base])
        return self.segment("%s(%%%s%s)" % (displacement, NAMES[base], index))

    def scale(self):
        return self.random.choice(("", ",2", ",4", ",8", ",8"))

    def displacement(self):
        kind = self.random.randrange(4)
        if kind == 0:
            return ""
        return str(self.random.randrange(-128, 128)) if kind < 3 else str(self.random.randrange(-300, 300))

    def fixed(self, offset):
        kind = self.random.randrange(8)
        place = "arena+%d" % offset
        if kind == 0:
            return place
        if kind == 1:
            return "%%fs:%s%+d" % (place, -FS_BASE)
        if kind == 2:
            return "%%gs:%s%+d(%%rip)" % (place, -GS_BASE)
        return place + "(%rip)"

    def segment(self, operand):
        """Now and then the same place through fs or gs."""
        if not self.chance(0.08):
            return operand
        name, base = self.random.choice((("fs", FS_BASE), ("gs", GS_BASE)))
        return "%%%s:%d%s%s" % (name, -base, "+" if operand[0] not in "-(" else "", operand)

    def on_stack(self):
        if self.in_call:  # not on the return address
            return "%d(%%rsp)" % self.random.randrange(-192, -72)
        if self.chance(0.3):
            return "%d(%%rsp,%%%s%s)" % (self.random.randrange(-120, 120), NAMES[self.index],
                                         self.random.choice(("", ",2", ",4")))
        return "%d(%%rsp)" % self.random.randrange(-192, 192)
