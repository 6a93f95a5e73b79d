"""Random SSE, AVX, AVX2, AVX-512, x87 and MMX instructions. `available` offers those that this processor has."""

from integer_instructions import needs_free, plain

PACKED = ("paddb paddw paddd paddq psubb psubw psubd psubq pand pandn por pxor pcmpeqb pcmpeqw pcmpeqd pcmpgtb "
          "pcmpgtd pmullw pmulhw pmuludq "
          "pmaddwd paddsb paddusw psubusb psubsw pavgb pminub pmaxsw psadbw punpcklbw punpckhwd punpckldq punpckhqdq "
          "packsswb packssdw packuswb "
          "pshufb phaddd phsubw pmaddubsw pmulhrsw psignb psignd pminsd pmaxud pmulld pcmpeqq pcmpgtq pmuldq").split()
FLOAT = ("addps addpd subps subpd mulps mulpd divps divpd minps maxpd sqrtps sqrtpd andps andnpd orps xorpd unpcklps "
         "unpckhpd haddps hsubpd "
         "addsubps cvtdq2ps cvtps2dq cvttps2dq cvtdq2pd cvtpd2ps").split()
ONE_SOURCE = {"sqrtps", "sqrtpd", "cvtdq2ps", "cvtps2dq", "cvttps2dq", "cvtdq2pd", "cvtpd2ps"}
SCALAR = "addss addsd subss subsd mulss mulsd divss divsd minsd maxss sqrtss sqrtsd cvtss2sd cvtsd2ss".split()


def xmm(o):
    return "%%xmm%d" % o.random.randrange(16)


def ymm(o):
    return "%%ymm%d" % o.random.randrange(16)


def zmm(o):
    return "%%zmm%d" % o.random.randrange(32)


def mask_register(o):
    return "%%k%d" % o.random.randrange(1, 8)


def sse_move(o):
    kind = o.random.randrange(8)
    if kind < 2:
        return ["%s %s, %s" % (o.random.choice(("movups", "movdqu", "movupd", "lddqu")), o.memory(), xmm(o))]
    if kind < 4:
        return ["%s %s, %s" % (o.random.choice(("movups", "movdqu", "movupd")), xmm(o), o.memory())]
    if kind == 4:
        return ["%s %s, %s" % (o.random.choice(("movaps", "movdqa", "movntdqa")), o.memory(aligned=16), xmm(o))]
    if kind == 5:
        return ["%s %s, %s" % (o.random.choice(("movaps", "movdqa", "movntdq", "movntps")), xmm(o),
                               o.memory(aligned=16))]
    if kind == 6:
        operation = o.random.choice(("movd", "movq", "movss", "movsd", "movlps", "movhps", "movhpd", "movlpd"))
        return ["%s %s, %s" % ((operation, o.memory(), xmm(o)) if o.chance(0.5) else (operation, xmm(o), o.memory()))]
    width = o.random.choice((4, 8))
    operation = "movd" if width == 4 else "movq"
    return ["%s %s, %s" % ((operation, o.readable(width), xmm(o)) if o.chance(0.5) else (operation, xmm(o),
                                                                                         plain(o, width)))]


def sse_packed(o):
    operation = o.random.choice(PACKED if o.chance(0.7) else FLOAT)
    return ["%s %s, %s" % (operation, o.memory(aligned=16) if o.chance(0.4) else xmm(o), xmm(o))]


def sse_scalar(o):
    return ["%s %s, %s" % (o.random.choice(SCALAR), o.memory() if o.chance(0.5) else xmm(o), xmm(o))]


def sse_convert(o):
    width = o.random.choice((4, 8))
    letter = "l" if width == 4 else "q"
    kind = o.random.randrange(4)
    if kind == 0:
        return ["%s%s %s, %s" % (o.random.choice(("cvtsi2sd", "cvtsi2ss")), letter,
                                 o.memory() if o.chance(0.5) else o.readable(width), xmm(o))]
    if kind == 1:
        return ["%s %s, %s" % (o.random.choice(("cvttsd2si", "cvtss2si", "cvttss2si")),
                               o.memory() if o.chance(0.5) else xmm(o), plain(o, width))]
    if kind == 2:
        return ["%s %s, %s" % (o.random.choice(("pmovmskb", "movmskps", "movmskpd")), xmm(o), plain(o, 4))]
    return ["%s %s, %s" % (o.random.choice(("ucomiss", "comisd", "ptest")), xmm(o), xmm(o))]


def sse_immediate(o):
    operation = o.random.choice("pshufd pshuflw pshufhw shufps shufpd palignr cmpps cmpsd blendps pblendw dppd "
                                "roundps roundsd mpsadbw".split())
    source = o.memory(aligned=16) if o.chance(0.3) else xmm(o)
    limit = {"cmpps": 8, "cmpsd": 8, "roundps": 16, "roundsd": 16}.get(operation, 256)
    return ["%s $%d, %s, %s" % (operation, o.random.randrange(limit), source, xmm(o))]


def sse_shift(o):
    operation = o.random.choice("psllw pslld psllq psrlw psrld psrlq psraw psrad".split())
    source = "$%d" % o.random.randrange(70) if o.chance(0.6) else xmm(o)
    if o.chance(0.2):
        return ["%s $%d, %s" % (o.random.choice(("pslldq", "psrldq")), o.random.randrange(18), xmm(o))]
    return ["%s %s, %s" % (operation, source, xmm(o))]


def sse_element(o):
    kind = o.random.randrange(4)
    lane = o.random.randrange(16)
    if kind == 0:
        return ["pinsr%s $%d, %s, %s" % (*o.random.choice((("b", lane), ("d", lane % 4), ("w", lane % 8))),
                                         o.memory() if o.chance(0.5) else plain(o, 4), xmm(o))]
    if kind == 1:
        return ["pextr%s $%d, %s, %s" % (*o.random.choice((("b", lane), ("d", lane % 4), ("w", lane % 8))), xmm(o),
                                         o.memory() if o.chance(0.5) else plain(o, 4))]
    if kind == 2:
        return ["pinsrq $%d, %s, %s" % (lane % 2, o.memory() if o.chance(0.5) else plain(o, 8), xmm(o))]
    return ["insertps $%d, %s, %s" % (o.random.randrange(256), o.memory() if o.chance(0.5) else xmm(o), xmm(o))]


def sse_extend(o):
    operation = o.random.choice("pmovzxbw pmovzxbd pmovzxbq pmovzxwd pmovsxbw pmovsxwq pmovsxdq".split())
    return ["%s %s, %s" % (operation, o.memory() if o.chance(0.5) else xmm(o), xmm(o))]


@needs_free("rcx")
def sse_strings(o):
    operation = o.random.choice(("pcmpistri", "pcmpistrm"))
    return ["%s $%d, %s, %s" % (operation, o.random.randrange(128), o.memory() if o.chance(0.5) else xmm(o), xmm(o))]


@needs_free("rdi")
def masked_bytes(o):
    return ["lea arena+%d(%%rip), %%rdi" % o.random.randrange(1000), "maskmovdqu %s, %s" % (xmm(o), xmm(o))]


def x87(o):
    load = o.random.choice(("flds", "fldl", "fldt", "filds", "fildl", "fildll", "fbld"))
    operation = o.random.choice(("fsqrt", "fabs", "fchs", "fadd %st(0), %st", "fmul %st(0), %st", "frndint", "nop"))
    store = o.random.choice(("fstps", "fstpl", "fstpt", "fistpl", "fistpll", "fisttpl", "fbstp"))
    if o.chance(0.3):
        return ["fldl " + o.memory(), "fldl " + o.memory(), o.random.choice(("faddp", "fmulp", "fsubrp", "fdivp")),
                "fstpl " + o.memory(), "fninit"]
    return ["%s %s" % (load, o.memory()), operation, "%s %s" % (store, o.memory()), "fnclex"]


def mmx(o):
    a, b = ("%%mm%d" % o.random.randrange(8) for _ in range(2))
    return ["movq %s, %s" % (o.memory(), a), "movq %s, %s" % (o.memory(), b),
            "%s %s, %s" % (o.random.choice(PACKED[:24]), o.memory(), a),
            "pxor %s, %s" % (a, b), "movq %s, %s" % (b, o.memory()), "emms", "fninit"]


def avx_packed(o):
    wide = o.chance(0.7)
    reg = ymm if wide else xmm
    operation = o.random.choice(PACKED if o.chance(0.7) else FLOAT)
    source = o.memory() if o.chance(0.4) else reg(o)
    if operation in ("cvtpd2ps", "cvtdq2pd"):
        return ["v%s %s, %s" % (operation, xmm(o), xmm(o))]
    if operation in ONE_SOURCE:
        return ["v%s %s, %s" % (operation, source, reg(o))]
    return ["v%s %s, %s, %s" % (operation, source, reg(o), reg(o))]


def avx_move(o):
    reg = ymm if o.chance(0.7) else xmm
    operation = o.random.choice(("vmovups", "vmovdqu", "vmovupd"))
    if o.chance(0.5):
        return ["%s %s, %s" % (operation, o.memory(), reg(o))]
    return ["%s %s, %s" % (operation, reg(o), o.memory())]


def avx_other(o):
    kind = o.random.randrange(10)
    if kind == 0:
        return ["vzeroupper"]
    if kind == 1:
        return ["vbroadcast%s %s, %s" % (o.random.choice(("ss", "sd")), o.memory(), ymm(o))]
    if kind == 2:
        return ["vpbroadcast%s %s, %s" % (o.random.choice("bwdq"), o.memory() if o.chance(0.5) else xmm(o), ymm(o))]
    if kind == 3:
        return ["vextracti128 $%d, %s, %s" % (o.random.randrange(2), ymm(o), o.memory() if o.chance(0.5) else xmm(o))]
    if kind == 4:
        return ["vinserti128 $%d, %s, %s, %s" % (o.random.randrange(2), o.memory() if o.chance(0.5) else xmm(o), ymm(o),
                                                 ymm(o))]
    if kind == 5:
        return ["vperm2i128 $%d, %s, %s, %s" % (o.random.randrange(256), ymm(o), ymm(o), ymm(o))]
    if kind == 6:
        return ["vperm%s %s, %s, %s" % (o.random.choice(("d", "ps")), o.memory() if o.chance(0.5) else ymm(o), ymm(o),
                                        ymm(o))]
    if kind == 7:
        return ["vp%s %s, %s, %s" % (o.random.choice("sllvd srlvq sravd".split()),
                                     o.memory() if o.chance(0.5) else ymm(o), ymm(o), ymm(o))]
    if kind == 8:
        return ["vpmovmskb %s, %s" % (ymm(o), plain(o, 4)), "vptest %s, %s" % (ymm(o), ymm(o))]
    return ["vpblendvb %s, %s, %s, %s" % (ymm(o), o.memory() if o.chance(0.5) else ymm(o), ymm(o), ymm(o))]


def fused(o):
    operation = "vf%sadd%s%s" % (o.random.choice(("m", "nm")), o.random.choice(("132", "213", "231")),
                                 o.random.choice(("ps", "pd", "ss", "sd")))
    reg = xmm if operation[-2] == "s" else ymm
    return ["%s %s, %s, %s" % (operation, o.memory() if o.chance(0.5) else reg(o), reg(o), reg(o))]


def avx_masked(o):
    """Masks are whatever the registers hold: the sign bit of a lane decides."""
    letter = o.random.choice(("vpmaskmovd", "vpmaskmovq", "vmaskmovps", "vmaskmovpd"))
    if o.chance(0.5):
        return ["%s %s, %s, %s" % (letter, o.memory(), ymm(o), ymm(o))]
    return ["%s %s, %s, %s" % (letter, ymm(o), ymm(o), o.memory())]


def gather(o):
    """Indices of 0..255, by a shift; three different registers."""
    a, b, c = o.random.sample(range(16), 3)
    base = "arena" if o.chance(0.3) else ""
    where = "(,%%ymm%d,4)" % b if base else "(%%%s,%%ymm%d,%d)" % (o_pointer(o), b, o.random.choice((1, 2)))
    lines = ["vpsrld $24, %%ymm%d, %%ymm%d" % (b, b)]
    if o.chance(0.5):
        return lines + ["v%s %%ymm%d, %s%s, %%ymm%d" % (o.random.choice(("pgatherdd", "gatherdps")), c, base, where, a)]
    return lines + ["v%s %%ymm%d, %s%s, %%ymm%d" % (o.random.choice(("pgatherdq", "gatherdpd")), c, base,
                                                    where.replace("ymm", "xmm"), a)]


def o_pointer(o):
    from operands import NAMES
    return NAMES[o.random.choice(o.pointers)]


def avx512(o):
    k = mask_register(o)
    decoration = "{%s}%s" % (k, "{z}" if o.chance(0.5) else "")
    kind = o.random.randrange(10)
    if kind == 0:
        return ["vmovdqu%s %s, %s%s" % (o.random.choice(("8", "16", "32", "64")), o.memory(), zmm(o), decoration)]
    if kind == 1:
        return ["vmovdqu%s %s, %s{%s}" % (o.random.choice(("8", "16", "32", "64")), zmm(o), o.memory(), k)]
    if kind == 2:
        return ["vp%s %s, %s, %s%s" %
                (o.random.choice("addd subq mulld xord andnq ternlogd maxsq".split()).replace("ternlogd", "ord"),
                                       o.memory() if o.chance(0.4) else zmm(o), zmm(o), zmm(o), decoration)]
    if kind == 3:
        return ["vpaddd %s{1to16}, %s, %s%s" % (o.memory(), zmm(o), zmm(o), decoration)]
    if kind == 4:
        return ["vpcmp%s %s, %s, %s" % (o.random.choice(("eqb", "gtd", "equq", "ltd")[:2]), zmm(o), zmm(o), k)]
    if kind == 5:
        return ["%s %s, %s" % (("kmovq", k, plain(o, 8)) if o.chance(0.5) else ("kmovq", plain(o, 8), k))]
    if kind == 6:
        return ["vpcompressd %s, %s{%s}" % (zmm(o), o.memory() if o.chance(0.6) else zmm(o), k)]
    if kind == 7:
        return ["vpexpandd %s, %s%s" % (o.memory() if o.chance(0.6) else zmm(o), zmm(o), decoration)]
    if kind == 8:
        a, b = o.random.sample(range(32), 2)
        return ["vpsrld $24, %%zmm%d, %%zmm%d" % (b, b), "kmovq %s, %s" % (k, k),
                ("vpgatherdd (%%%s,%%zmm%d,1), %%zmm%d{%s}" % (o_pointer(o), b, a, k)) if o.chance(0.5) else
                ("vpscatterdd %%zmm%d, (%%%s,%%zmm%d,1){%s}" % (a, o_pointer(o), b, k))]
    return ["kortestq %s, %s" % (k, mask_register(o)), "vpmovm2b %s, %s" % (k, zmm(o))]


def available(features):
    """The generators for a processor with these words in /proc/cpuinfo, repeated by weight."""
    found = [sse_move] * 6 + [sse_packed] * 5 + [sse_scalar, sse_scalar, sse_convert, sse_convert, sse_immediate,
                                                 sse_shift, sse_element,
                                                 sse_extend, sse_strings, masked_bytes, x87, x87, mmx]
    if "avx2" in features:
        found += [avx_packed] * 5 + [avx_move] * 4 + [avx_other] * 3 + [avx_masked, avx_masked, gather, gather]
    if "fma" in features:
        found += [fused]
    if {"avx512f", "avx512bw", "avx512vl", "avx512dq"} <= features:
        found += [avx512] * 6
    return found
