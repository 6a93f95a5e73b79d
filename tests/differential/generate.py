"""Sequences of random instructions with random control flow, and the program that holds them."""

import os
import random
import subprocess

import integer_instructions
import vector_instructions
from operands import ARENA_BYTES, FS_BASE, GS_BASE, NAMES, Operands, register

HERE = os.path.dirname(os.path.abspath(__file__))
CONDITIONS = integer_instructions.CONDITIONS


class Node:
    """Lines before, nodes within, lines behind. The reducer drops a node, or replaces it by what is within."""

    def __init__(self, before, within=(), behind=()):
        self.before, self.within, self.behind = list(before), list(within), list(behind)

    def lines(self):
        return self.before + [text for node in self.within for text in node.lines()] + self.behind


def processor_features():
    with open("/proc/cpuinfo") as lines:
        for text in lines:
            if text.startswith("flags"):
                return set(text.split())
    return set()


class Sequence:
    defined_flags_only = False

    def __init__(self, seed, index, features):
        self.random = random.Random("%d/%d" % (seed, index))
        self.index = index
        self.labels = 0
        self.vectors = vector_instructions.available(features)
        self.operands = Operands(self.random)
        self.share_of_vectors = self.random.choice((0, 0.15, 0.5))
        self.nodes = [Node(self.operands.set_up())] + self.some(self.random.randrange(4, 26), 0)

    def label(self):
        self.labels += 1
        return ".L%d_%d" % (self.index, self.labels)

    def some(self, count, depth):
        return [self.one(depth) for _ in range(count)]

    def one(self, depth):
        if depth < 3 and self.random.random() < 0.16:
            return self.random.choice((self.forward, self.forward, self.forward, self.loop, self.indirect,
                                       self.call))(depth)
        source = self.vectors if self.random.random() < self.share_of_vectors else integer_instructions.ALL
        made = self.random.choice(source)
        after = ["cmpl $%d, %s" % (self.index, register(self.operands.index, 4))]
        return Node(made(self.operands) + (after if self.defined_flags_only
                                           and made in integer_instructions.LEAVE_UNDEFINED else []))

    def body(self, depth):
        return self.some(self.random.randrange(0, 6), depth + 1)

    def forward(self, depth):
        end = self.label()
        jump = "j" + self.random.choice(CONDITIONS)
        if self.random.random() < 0.1:
            jump = self.random.choice(("jrcxz", "jecxz"))
            near = self.label()
            return Node(["%s %s" % (jump, near), "jmp %s" % end, near + ":"], self.body(depth), [end + ":"])
        if self.random.random() < 0.3:  # both sides hold something
            other = self.label()
            return Node(["%s %s" % (jump, other)], self.body(depth),
                        ["jmp " + end, other + ":"] + Node([], self.body(depth)).lines() + [end + ":"])
        return Node(["%s %s" % (jump, end)], self.body(depth), [end + ":"])

    def loop(self, depth):
        """The counter leaves the free registers while the body is made."""
        o, start = self.operands, self.label()
        if len(o.free) < 4:
            return self.forward(depth)
        # Instructions with fixed registers ask whether those are free, so none writes the counter.
        counter = self.random.choice(o.free)
        o.free.remove(counter)
        moves, o.moves = o.moves, 4
        within = self.body(depth)
        o.moves = moves
        o.free.append(counter)
        name = NAMES[counter]
        count = self.random.randrange(1, 7)
        ends = [["dec %" + name, "jnz " + start], ["sub $1, %" + name, "ja " + start],
                ["lea -1(%{0}), %{0}".format(name), "test %{0}, %{0}".format(name), "jg " + start],
                ["addq $-1, %" + name, "jne " + start]]
        return Node(["mov $%d, %s" % (count, register(counter, 4)), start + ":"], within, self.random.choice(ends))

    def indirect(self, depth):
        target, reg = self.label(), NAMES[self.random.choice(self.operands.free)]
        jumps = [["lea %s(%%rip), %%%s" % (target, reg), "jmp *%%%s" % reg],
                 ["lea %s(%%rip), %%%s" % (target, reg), "mov %%%s, -64(%%rsp)" % reg, "jmp *-64(%rsp)"],
                 ["lea %s(%%rip), %%%s" % (target, reg), "push %%%s" % reg, "ret"],
                 ["movq $%s, arena+8(%%rip)" % target, "jmp *arena+8(%rip)"]]
        return Node(self.random.choice(jumps) + ["ud2", target + ":"])

    def call(self, depth):
        function, end = self.label(), self.label()
        reg = NAMES[self.random.choice(self.operands.free)]
        calls = [["call " + function], ["lea %s(%%rip), %%%s" % (function, reg), "call *%%%s" % reg],
                 ["movq $%s, arena+16(%%rip)" % function, "call *arena+16(%rip)"]]
        leave = self.random.choice((["ret"], ["pop -8(%rsp)", "jmp *-8(%rsp)"], ["lea 8(%rsp), %rsp", "jmp *-8(%rsp)"]))
        chosen = self.random.choice(calls)
        if self.random.random() < 0.2:
            chosen, leave = ["push %" + reg] + chosen, ["ret $8"]
        self.operands.in_call += 1
        within = self.body(depth)
        self.operands.in_call -= 1
        return Node(chosen + ["jmp " + end, function + ":"], within, leave + [end + ":"])

    def lines(self):
        return [text for node in self.nodes for text in node.lines()]


def program_text(sequences):
    """A sequence keeps its index, from which the driver makes its initial state: a single one is preceded by itself in
    the table.
    """
    parts = [".text"]
    for s in sequences:
        parts += ["sequence_%d:" % s.index] + ["\t" + text for text in s.lines()] + ["\tjmp sequence_end"]
    parts += [".section .rodata", ".balign 8", ".globl sequences, sequence_count", "sequences:"]
    parts += [".quad sequence_%d" % sequences[0].index] * sequences[0].index
    parts += [".quad sequence_%d" % s.index for s in sequences]
    parts += ["sequence_count: .quad %d" % (sequences[-1].index + 1), ".section .note.GNU-stack,\"\",@progbits", ""]
    return "\n".join(parts)


def build(sequences, features, directory, compiler="gcc", quiet=False):
    """Path of the program made of these sequences."""
    wide = {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= features
    vectors, size = (32, 64) if wide else (16, 32 if "avx2" in features else 16)
    source, program = os.path.join(directory, "sequences.s"), os.path.join(directory, "program")
    with open(source, "w") as out:
        out.write(program_text(sequences))
    definitions = ["-DVECTORS=%d" % vectors, "-DVECTOR_BYTES=%d" % size, "-DFS_BASE=%d" % FS_BASE,
                   "-DGS_BASE=%d" % GS_BASE]
    subprocess.run([compiler, "-O2", "-ffreestanding", "-fno-stack-protector", "-mgeneral-regs-only",
                    "-fcf-protection=none", "-static", "-nostdlib",
                    "-no-pie", "-fno-pie"] + definitions + [os.path.join(HERE, "driver.c"),
                                                            os.path.join(HERE, "trampoline.S"), source, "-o", program],
                   check=True, stderr=subprocess.DEVNULL if quiet else None)
    return program


assert ARENA_BYTES == 2048  # driver.c says so too
