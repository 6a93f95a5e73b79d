"""Random integer instructions, as lines of assembly (AT&T syntax, which GNU as turns into bytes). Each function returns
a list of lines that belong together: the reducer keeps or drops them as one.
"""

from operands import NAMES, register

SUFFIX = {1: "b", 2: "w", 4: "l", 8: "q"}
CONDITIONS = "o no b ae e ne be a s ns p np l ge le g".split()


def width_of(o):
    return o.random.choice((1, 2, 4, 4, 8, 8))


def line(operation, width, *operands):
    return "%s%s %s" % (operation, SUFFIX[width], ", ".join(operands))


def needs_no_rex(operand):
    return operand in ("%ah", "%bh", "%ch", "%dh")


def arithmetic(o):
    width = width_of(o)
    operation = o.random.choice("add or adc sbb and sub xor cmp test add sub xor adc".split())
    form = o.random.randrange(6)
    locked = "lock " if operation not in ("cmp", "test") and o.chance(0.15) else ""
    if form == 0:
        return [line(operation, width, "$%d" % o.immediate(width), o.writable(width))]
    if form == 1:
        return [line(operation, width, readable_plain(o, width), o.writable(width) if width > 1 else plain(o, 1))]
    if form in (2, 3) and operation != "test":
        return [line(operation, width, o.memory(), plain(o, width))]
    if form == 4:
        return [locked + line(operation, width, "$%d" % o.immediate(width), o.memory())]
    return [locked + line(operation, width, readable_plain(o, width), o.memory())]


def plain(o, width):
    """A writable register, never ah to dh."""
    return register(o.random.choice(o.free), width)


def readable_plain(o, width):
    found = o.readable(width)
    return plain(o, width) if needs_no_rex(found) else found


def high_bytes(o):
    legacy = [n for n in o.free if n < 4]
    if not legacy:
        return arithmetic(o)
    high, low = o.writable(1, legacy=True), o.writable(1, legacy=True)
    choice = o.random.randrange(6)
    if choice == 0:
        return ["mov %s, %s" % (high, low)]
    if choice == 1:
        return ["%s %s, %s" % (o.random.choice("addb xorb adcb subb cmpb xchgb".split()), high, low)]
    if choice == 2:
        return ["movb arena+%d(%%rip), %s" % (o.random.randrange(1000), high)]
    if choice == 3:
        return ["%s %s, arena+%d(%%rip)" % (o.random.choice("movb addb xorb".split()), high, o.random.randrange(1000))]
    if choice == 4:
        return ["set%s %s" % (o.random.choice(CONDITIONS), high)]
    target = "%e" + NAMES[o.random.choice(legacy)][1:]
    return ["%s %s, %s" % (o.random.choice(("movzbl", "movsbl")), high, target)]


def unary(o):
    width = width_of(o)
    operation = o.random.choice("inc dec neg not".split())
    if o.chance(0.5):
        return [("lock " if o.chance(0.2) else "") + line(operation, width, o.memory())]
    return [line(operation, width, o.writable(width))]


def move(o):
    width = width_of(o)
    form = o.random.randrange(8)
    if form < 2:
        return [line("mov", width, o.memory(), plain(o, width))]
    if form < 4:
        return [line("mov", width, readable_plain(o, width), o.memory())]
    if form == 4:
        return [line("mov", width, "$%d" % o.immediate(width), o.memory())]
    if form == 5:
        return ["movabs $%d, %s" % (o.random.getrandbits(64), plain(o, 8))]
    if form == 6:
        return [line("mov", width, readable_plain(o, width), plain(o, width))]
    return [line("mov", width, "$%d" % o.immediate(width), plain(o, width))]


def extend(o):
    operation, to = o.random.choice((("movzbw", 2), ("movzbl", 4), ("movzbq", 8), ("movzwl", 4), ("movzwq", 8),
                                     ("movsbw", 2), ("movsbl", 4),
                                     ("movsbq", 8), ("movswl", 4), ("movswq", 8), ("movslq", 8)))
    source = {"b": 1, "w": 2, "l": 4}[operation[4]]
    return ["%s %s, %s" % (operation, o.memory() if o.chance(0.6) else readable_plain(o, source), plain(o, to))]


def address(o):
    """lea: of a place in the arena, or of any registers at all."""
    memory = o.memory()
    while "%fs" in memory or "%gs" in memory:
        memory = o.memory()
    if o.chance(0.4):
        memory = "%d(%%%s,%%%s,%d)" % (o.immediate(4), NAMES[o.random.randrange(16)], NAMES[o.random.choice(o.free)],
                                       o.random.choice((1, 2, 4, 8)))
    width = o.random.choice((2, 4, 8, 8))
    return [line("lea", width, memory, plain(o, width))]


def shift(o):
    width = width_of(o)
    operation = o.random.choice("rol ror rcl rcr shl shr sar".split())
    count = o.random.choice(("$1", "$%d" % o.random.randrange(64), "%cl"))
    target = o.memory() if o.chance(0.4) else plain(o, width)
    return [line(operation, width, count, target)]


def double_shift(o):
    width = o.random.choice((4, 8))
    target = o.memory() if o.chance(0.4) else plain(o, width)
    count = o.random.choice(("%cl", "$%d" % o.random.randrange(64)))
    return [line(o.random.choice(("shld", "shrd")), width, count, readable_plain(o, width), target)]


def needs_free(*names):
    """The instruction writes these registers, so they must be free in the sequence."""
    def decorate(function):
        def guarded(o):
            return function(o) if all(NAMES.index(n) in o.free for n in names) else arithmetic(o)
        return guarded
    return decorate


@needs_free("rax", "rdx")
def multiply_wide(o):
    width = width_of(o)
    return [line(o.random.choice(("mul", "imul")), width, o.memory() if o.chance(0.5) else readable_plain(o, width))]


def multiply(o):
    width = o.random.choice((2, 4, 8))
    source = o.memory() if o.chance(0.5) else readable_plain(o, width)
    if o.chance(0.5):
        return [line("imul", width, source, plain(o, width))]
    return [line("imul", width, "$%d" % o.immediate(width), source, plain(o, width))]


@needs_free("rax", "rdx")
def divide(o):
    """The quotient always fits: the dividend's upper half is 0 (or the sign), the divisor is positive."""
    width = o.random.choice((4, 8))
    others = [n for n in o.free if NAMES[n] not in ("rax", "rdx")]
    if not others:
        return unary(o)
    divisor = register(o.random.choice(others), width)
    positive = ["%s $1, %s" % ("shr" + SUFFIX[width], divisor), "%s $1, %s" % ("or" + SUFFIX[width], divisor)]
    if o.chance(0.5):
        return positive + ["xor %edx, %edx", line("div", width, divisor)]
    return positive + ["cqto" if width == 8 else "cltd", line("idiv", width, divisor)]


def bits(o):
    operation = o.random.choice("bt bts btr btc".split())
    locked = "lock " if operation != "bt" and o.chance(0.2) else ""
    width = o.random.choice((2, 4, 8))
    form = o.random.randrange(4)
    if form == 0:
        return [line(operation, width, "$%d" % o.random.randrange(256), plain(o, width))]
    if form == 1:
        return [line(operation, width, readable_plain(o, width), plain(o, width))]
    if form == 2:
        return [locked + line(operation, width, "$%d" % o.random.randrange(256), o.memory())]
    # The bit offset in a register reaches beyond the operand: the index register is small.
    return [locked + line(operation, width, register(o.index, width), o.fixed(o.random.randrange(256, 1500)))]


@needs_free("rax")
def compare_exchange(o):
    width = width_of(o)
    locked = "lock " if o.chance(0.5) else ""
    target = o.memory() if o.chance(0.7) else ""
    if not target:
        return [line("cmpxchg", width, readable_plain(o, width), plain(o, width))]
    lines = [locked + line("cmpxchg", width, readable_plain(o, width), target)]
    if o.chance(0.4) and "%rax" not in target and "%eax" not in target:
        return [line("mov", width, target, register(0, width))] + lines
    return lines


@needs_free("rax", "rdx")
def compare_exchange_wide(o):
    locked = "lock " if o.chance(0.5) else ""
    at = "arena+%d(%%rip)" % (16 * o.random.randrange(64))
    lines = [locked + o.random.choice(("cmpxchg16b ", "cmpxchg8b ")) + at]
    if o.chance(0.4):
        return ["mov %s, %%rax" % at, "mov 8+%s, %%rdx" % at] + lines
    return lines


def exchange(o):
    width = width_of(o)
    operation = o.random.choice(("xadd", "xchg"))
    if o.chance(0.5):
        return [line(operation, width, plain(o, width), plain(o, width))]
    locked = "lock " if o.chance(0.4) else ""
    return [locked + line(operation, width, plain(o, width), o.memory())]


def conditional(o):
    condition = o.random.choice(CONDITIONS)
    if o.chance(0.5):
        return ["set%s %s" % (condition, o.memory() if o.chance(0.4) else plain(o, 1))]
    width = o.random.choice((2, 4, 8))
    return [line("cmov" + condition, width, o.memory() if o.chance(0.5) else readable_plain(o, width), plain(o, width))]


@needs_free("rax")
def accumulator(o):
    return [o.random.choice("lahf sahf cwtl cltq cbtw".split())]


@needs_free("rax", "rdx")
def sign_into_rdx(o):
    return [o.random.choice("cltd cqto cwtd".split())]


def carry(o):
    return [o.random.choice("clc stc cmc".split())]


def find_bit(o):
    width = o.random.choice((2, 4, 8))
    operation = o.random.choice("bsf bsr popcnt lzcnt tzcnt".split())
    return [line(operation, width, o.memory() if o.chance(0.5) else readable_plain(o, width), plain(o, width))]


def bit_manipulation(o):
    width = o.random.choice((4, 8))
    source = o.memory() if o.chance(0.4) else readable_plain(o, width)
    reg = lambda: plain(o, width)
    kind = o.random.randrange(6)
    if kind == 0:
        return ["%s %s, %s, %s" % (o.random.choice(("andn", "pdep", "pext")), source, readable_plain(o, width), reg())]
    if kind == 1:
        return ["%s%s %s, %s" % (o.random.choice(("blsi", "blsr", "blsmsk")), SUFFIX[width], source, reg())]
    if kind == 2:
        return ["%s %s, %s, %s" % (o.random.choice(("bextr", "bzhi", "sarx", "shlx", "shrx")), readable_plain(o, width),
                                   source, reg())]
    if kind == 3:
        return ["rorx $%d, %s, %s" % (o.random.randrange(64), source, reg())]
    if kind == 4:
        return ["mulx %s, %s, %s" % (source, reg(), reg())]
    return ["%s%s %s, %s" % (o.random.choice(("adcx", "adox")), SUFFIX[width], source, reg())]


def swap_bytes(o):
    width = o.random.choice((4, 8))
    if o.chance(0.5):
        return ["bswap " + plain(o, width)]
    width = o.random.choice((2, 4, 8))
    if o.chance(0.5):
        return ["movbe %s, %s" % (o.memory(), plain(o, width))]
    return ["movbe %s, %s" % (readable_plain(o, width), o.memory())]


def checksum(o):
    width = width_of(o)
    return ["crc32%s %s, %s" % (SUFFIX[width], o.memory() if o.chance(0.5) else plain(o, width),
                                plain(o, 8 if width == 8 else 4))]


def stack(o):
    kind = o.random.randrange(9)
    pop_target = plain(o, 8) if o.chance(0.6) else o.memory(no_stack=True)
    if kind == 0:
        return ["push " + o.readable(8), "popq " + pop_target]
    if kind == 1:
        return ["pushq " + o.memory(), "popq " + pop_target]
    if kind == 2:
        return ["pushq $%d" % o.immediate(4), "popq " + pop_target]
    if kind == 3:
        return ["pushfq", "popq " + pop_target]
    if kind == 4:
        return ["pushq $%d" % (0x202 | o.random.getrandbits(12) & 0x8d5), "popfq"]
    if kind == 5:
        return ["push %rsp", "pop " + plain(o, 8)]
    if kind == 6:
        return ["pushw " + readable_plain(o, 2), "popw " + plain(o, 2)]
    if kind == 7:
        return ["lea -40(%rsp), %rsp", "pushq 16(%rsp)", "popq 8(%rsp)", "lea 40(%rsp), %rsp"]
    return ["push " + o.readable(8), "mov %s, -8(%%rsp)" % o.readable(8), "pop " + plain(o, 8)]


@needs_free("rbp")
def frame(o):
    return ["enter $%d, $0" % (8 * o.random.randrange(8)), "mov %rbp, -8(%rbp)", "leave"]


@needs_free("rcx", "rsi", "rdi")
def string(o):
    suffix, bytes_each = o.random.choice((("b", 1), ("w", 2), ("l", 4), ("q", 8)))
    prefix, operation = o.random.choice((("rep ", "movs"), ("rep ", "stos"), ("repe ", "cmps"), ("repne ", "cmps"),
                                         ("repe ", "scas"),
                                         ("repne ", "scas"), ("rep ", "lods"), ("", "movs"), ("", "stos"), ("", "cmps"),
                                         ("", "scas"), ("", "lods")))
    if operation == "lods" and 0 not in o.free:
        operation = "movs"
    lines = ["lea arena+%d(%%rip), %%%s" % (o.random.randrange(512, 1400), name) for name in ("rsi", "rdi")]
    if o.chance(0.3):
        lines[1] = "lea %d(%%rsi), %%rdi" % o.random.randrange(-20, 20)
    lines.append("mov $%d, %%ecx" % o.random.choice((0, 1, 2, 3, 7, o.random.randrange(30))))
    if o.chance(0.3):
        return lines + ["std", prefix + operation + suffix, "cld"]
    return lines + [prefix + operation + suffix]


@needs_free("rax", "rbx")
def translate_byte(o):
    return ["lea arena+%d(%%rip), %%rbx" % o.random.randrange(1000), "xlat"]


def move_pointer(o):
    """Changes a pointer a little, or replaces it by another: the address of a later operand differs though its base
    register does not.
    """
    if o.moves == 4:
        return move(o)
    o.moves += 1
    pointer, other = (NAMES[o.random.choice(o.pointers)] for _ in range(2))
    step = o.random.randrange(-64, 65)
    kind = o.random.randrange(7)
    if kind == 0:
        return ["add $%d, %%%s" % (step, pointer)]
    if kind == 1:
        return ["lea %d(%%%s), %%%s" % (step, pointer, pointer)]
    if kind == 2:
        return ["mov %%%s, %%%s" % (other, pointer)]
    if kind == 3:
        return ["xchg %%%s, %%%s" % (other, pointer)]
    if kind == 4:
        return ["push %%%s" % pointer, "addq $%d, (%%rsp)" % step, "pop %%%s" % pointer]
    if kind == 5:
        return ["mov %%%s, -%d(%%rsp)" % (pointer, o.random.choice((8, 64, 120))), "neg %%%s" % pointer,
                "neg %%%s" % pointer,
                "inc %%%s" % pointer]
    return ["mov %%%s, arena+64(%%rip)" % other, "mov arena+64(%%rip), %%%s" % pointer]


ALL = ([arithmetic] * 10 + [move] * 6 + [extend] * 3 + [conditional] * 4 + [shift] * 4 + [unary] * 3 + [stack] * 4 +
       [move_pointer] * 2 +
       [high_bytes, high_bytes, address, address, double_shift, multiply_wide, multiply, divide, bits, bits,
        compare_exchange, compare_exchange_wide,
        exchange, exchange, accumulator, sign_into_rdx, carry, find_bit, find_bit, bit_manipulation, bit_manipulation,
        swap_bytes, checksum,
        frame, string, string, translate_byte])

# They leave some flags undefined, which is to say: to the processor model, and on some to what the flags were before.
LEAVE_UNDEFINED = {multiply_wide, multiply, divide, shift, double_shift, bits, find_bit, bit_manipulation}
