"""Real programs: what they need, how they are run, and which of their output must be equal natively and under simrun.

A case's `command` is run by execve in a directory of its own, after `prepare` (a shell script, run natively; inputs
that several cases use are made once, in $SHARED). `artefacts` are files whose contents must be equal too. `shape`
replaces what differs from run to run (times) before the comparison.
"""

import re
from dataclasses import dataclass, field

TEN_MEGABYTES = r"""
test -e "$SHARED/ten" || { awk 'BEGIN { srand(1); for (i = 0; i < 3000; ++i) { w = ""; n = 2 + int(rand() * 7);
  for (j = 0; j < n; ++j) w = w sprintf("%c", 97 + int(rand() * 26)); word[i] = w }
  for (bytes = 0; bytes < 10000000; ) { line = ""; for (k = 0; k < 12; ++k) line = line word[int(rand() * 3000)] " ";
  print line; bytes += length(line) + 1 } }' > "$SHARED/ten.new" && mv "$SHARED/ten.new" "$SHARED/ten"; }
ln -s "$SHARED/ten" ten
"""

SCENE = r"""
cat > scene.pov <<'END'
#version 3.7;
global_settings { assumed_gamma 1 }
camera { location <0, 2, -6> look_at <0, 1, 0> }
light_source { <5, 8, -6> color rgb 1 }
plane { y, 0 pigment { checker color rgb 1, color rgb <0.2, 0.3, 0.4> } finish { reflection 0.2 } }
#for (I, 0, 4) sphere { <I - 2, 1, mod(I, 2)>, 0.6
  pigment { color rgb <I / 4, 0.5, 1 - I / 4> } finish { phong 1 reflection 0.3 } } #end
blob { threshold 0.5 sphere { <0, 2, 0>, 1, 1 } sphere { <0.7, 2.3, 0>, 1, 1 } pigment { color rgb <0.8, 0.7, 0.2> } }
END
"""

NGINX = r"""
cat > nginx.conf <<'END'
daemon off; master_process off; pid pid; error_log stderr;
events { worker_connections 64; }
http { access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u;
  scgi_temp_path s; server { listen unix:socket; root .; } }
END
head -c 50000 /dev/zero | tr '\0' x > file
/usr/bin/python3 "$SOURCES/use_nginx.py" > load.out 2>&1 &
"""


def without_times(text):
    """openssl speed: counts and times are numbers, the rest must stay."""
    return re.sub(rb"[-+]?\d+(\.\d+)?k?", b"N", re.sub(rb" +", b" ", text))


@dataclass
class Case:
    command: list
    needs: list = field(default_factory=list)  # programs that must be installed
    prepare: str = ""
    artefacts: list = field(default_factory=list)
    shape: object = None
    errors: bool = True  # compare standard error too
    threads: int = 1  # that the report must have at least: proof that it was this program that was simulated
    instructions: int = 20_000  # likewise
    seconds: int = 200
    slow: bool = False  # minutes: to be asked for by name


def without_tests_times(text):
    """unittest: what was run and how it ended; the rest are times, addresses and the notes of single tests."""
    return b"\n".join(re.findall(rb"(?m)^(Ran \d+ tests|OK.*|FAILED.*|(?:ERROR|FAIL): .*)", text))


def python_tests(name, **rest):
    """A part of CPython's own tests."""
    return Case(["/usr/bin/python3", "-m", "unittest", "-q", "test." + name.removesuffix(".py")], shape=without_tests_times,
                needs=["/usr/bin/python3", "/usr/lib/python3.11/test/%s" % name], instructions=1_000_000, **rest)


def bash(script, **rest):
    return Case(["bash", "-c", script], needs=["bash"], **rest)


SEVEN_ZIP = "/usr/lib/p7zip/7z"  # what the shell script 7z executes
COMPILED = 'cp "$SOURCES/{0}" . && {1}'

CASES = {
    "ls": Case(["ls", "-lR", "/usr/share/doc/bash", "/etc/alternatives"]),
    "true": Case(["true"]),
    "false": Case(["false"]),
    "date": Case(["date", "-u", "-d", "@1000000000"]),
    "sort": Case(["sort", "--parallel=2", "-S1M", "-u", "words"],
                 prepare=TEN_MEGABYTES + "head -c 300000 ten | tr ' ' '\\n' > words"),
    "find": Case(["find", "/usr/share/doc", "-name", "copyright", "-size", "+2k"]),
    "grep": bash("grep -c -E '(ab|cd)+e' ten; sed -n '1,100s/a/A/gp' ten | md5sum; awk '{n += NF} END {print n}' ten",
                 prepare=TEN_MEGABYTES),
    "bash_pipes": bash("seq 500 | while read n; do echo $((n * n)); done | sort -rn | head -3; (exit 3) | cat; echo "
                       "${PIPESTATUS[@]}; "
                       "x=$(echo a | tr a b); echo $x; for i in 1 2 3; do echo $i & wait; done; exit 7"),
    "bash_alone": bash("s=0; for ((i = 0; i < 20000; ++i)); do ((s = (s * 31 + i) % 1000003)); done; echo $s; "
                       "declare -A m; "
                       "for w in a b c a; do ((++m[$w])); done; echo ${m[a]} ${#m[@]}; [[ abc =~ ^a(.)c$ ]] && echo "
                       "${BASH_REMATCH[1]}"),
    "gzip": Case(["gzip", "-nk", "ten.copy"], prepare=TEN_MEGABYTES + "cp ten ten.copy", artefacts=["ten.copy.gz"],
                 instructions=100_000_000),
    "bzip2": Case(["bzip2", "-k", "-1", "ten.copy"], needs=["bzip2"], prepare=TEN_MEGABYTES + "cp ten ten.copy",
                  artefacts=["ten.copy.bz2"], instructions=100_000_000),
    "xz": Case(["xz", "-k", "-0", "ten.copy"], needs=["xz"], prepare=TEN_MEGABYTES + "cp ten ten.copy",
               artefacts=["ten.copy.xz"], instructions=100_000_000),
    "xz_threads": Case(["xz", "-k", "-0", "-T2", "--block-size=500KiB", "part"], needs=["xz"],
                       prepare=TEN_MEGABYTES + "head -c 2000000 ten > part", artefacts=["part.xz"], threads=3),
    "unpack": Case(["xz", "-dc", "part.xz"], needs=["xz"], prepare=TEN_MEGABYTES +
                   "head -c 3000000 ten | xz -0 > part.xz"),
    "python": Case(["/usr/bin/python3", "threads.py"], needs=["/usr/bin/python3"], prepare='cp "$SOURCES/threads.py" .',
                   threads=9, instructions=1_000_000),
    "python_modules": Case(["/usr/bin/python3", "-c", "import json, re, hashlib, zlib, decimal, ctypes, sqlite3\n"
                            "d = {str(i): [i, i * i] for i in range(2000)}\nassert json.loads(json.dumps(d)) == d\n"
                            "print(hashlib.sha256(json.dumps(d).encode()).hexdigest(), len(zlib.compress(b'abc' * "
                            "10000)))\n"
                            "print(decimal.Decimal(2).sqrt(), len(re.findall(r'(\\d)\\1', json.dumps(d))))\n"
                            "print(ctypes.CDLL(None).abs(-5), sqlite3.connect(':memory:').execute('select 6 * "
                            "7').fetchone())"],
                           needs=["/usr/bin/python3"]),
    "perl": Case(["perl", "-e", "my %h; for my $i (1 .. 30000) { $h{($i * 7919) % 1009} .= chr(97 + $i % 26); } "
                  "my $s = join ',', map { length $h{$_} } sort { $a <=> $b } keys %h; print unpack('%32C*', $s), "
                  "qq{\\n}; "
                  "$_ = 'the quick brown fox' x 50; my $n = () = /(\\w)\\w*\\b/g; print qq{$n\\n}; eval { die "
                  "qq{caught\\n} }; print $@; "
                  "printf qq{%.6f %s\\n}, atan2(1, 1) * 4, sprintf('%x', 255); open(my $p, '-|', 'echo piped') or "
                  "die; print <$p>; exit 5"],
                 needs=["perl"], instructions=1_000_000),
    "gcc": Case(["gcc", "-O2", "-c", "program.c", "-o", "program.o"], needs=["gcc"],
                prepare="echo 'int scale(int x) { return 3 * x / 7; }' > program.c",
                artefacts=["program.o"]),
    "cc1": bash("$(gcc -print-prog-name=cc1) -quiet -O2 program.c -o program.s && exit 4",
                prepare='cp "$SOURCES/compiled.c" program.c',
                artefacts=["program.s"]),
    "sqlite": Case(["sqlite3", "-batch", "test.db", ".read work.sql"], needs=["sqlite3"],
                   prepare='cp "$SOURCES/work.sql" .', instructions=1_000_000),
    "7z": Case([SEVEN_ZIP, "a", "-mmt2", "-mx5", "-bd", "out.7z", "part"], needs=[SEVEN_ZIP], errors=True,
               prepare=TEN_MEGABYTES + "head -c 400000 ten > part; touch -d @1000000000 part",
               shape=lambda text: re.sub(rb"(?m)^(.*\d+ MHz|.*Intel.*|.*AMD.*|.*\d+-bit.*|.*GenuineIntel.*)$", b"",
                                         text), threads=2),
    "7z_test": Case([SEVEN_ZIP, "t", "-mmt2", "-bd", "out.7z"], needs=[SEVEN_ZIP], prepare=TEN_MEGABYTES +
                    "head -c 2000000 ten > part; touch -d @1000000000 part; 7z a -mx1 out.7z part > /dev/null",
                    shape=lambda text: re.sub(rb"(?m)^(.*\d+-bit.*)$", b"", text), threads=2),
    "povray": Case(["povray", "+Iscene.pov", "+Oscene.bmp", "+FB", "+W80", "+H60", "-D", "-A", "+WT1", "-GA"],
                   needs=["povray"], prepare=SCENE,
                   artefacts=["scene.bmp"], errors=False, instructions=1_000_000),
    "povray_threads": Case(["povray", "+Iscene.pov", "+Oscene.bmp", "+FB", "+W80", "+H60", "-D", "-A", "+WT2", "-GA"],
                           needs=["povray"],
                           prepare=SCENE, artefacts=["scene.bmp"], errors=False, threads=3),
    "openssl_speed": Case(["openssl", "speed", "-seconds", "1", "sha256"], needs=["openssl"], shape=without_times),
    "openssl": bash("head -c 2000000 ten | openssl enc -aes-256-cbc -pbkdf2 -iter 1000 -S 0011223344556677 -k secret "
                    "| openssl dgst -sha512; "
                    "openssl prime -generate -bits 64 > /dev/null && openssl prime 1000003", prepare=TEN_MEGABYTES),
    "busybox": Case(["busybox", "sh", "-c",
                     "seq 2000 | busybox awk '{s += $1} END {print s}'; busybox md5sum ten; echo $((6 * 7)); exit 9"],
                    needs=["busybox"], prepare=TEN_MEGABYTES),
    "busybox_static": Case(["busybox", "bzip2", "-c", "part"], needs=["busybox"],
                           prepare=TEN_MEGABYTES + "head -c 500000 ten > part"),
    "openmp": Case(["./openmp"], needs=["gcc"], prepare=COMPILED.format("openmp.c",
            "gcc -O2 -fopenmp openmp.c -o openmp -lm"), threads=8),
    "exceptions": Case(["./exceptions"], needs=["g++"], prepare=COMPILED.format("exceptions.cpp",
            "g++ -O2 -pthread exceptions.cpp -o exceptions"),
                       threads=9),
    "ends_by_signal": bash("kill -TERM $$"),
    "node": Case(["node", "-e",
                  "const m = new Map(); for (let i = 0; i < 2e5; ++i) m.set(i % 97, i); console.log(m.get(5))"],
                 needs=["node"]),
    "java": Case(["java", "-Xint", "-version"], needs=["java"], threads=2),
    "tar": bash("tar -C /usr/share/doc -cf - bash coreutils 2> /dev/null | gzip -n | gzip -dc | tar -tf - | sort | "
                "md5sum"),
    "git": bash("git init -q . && git config user.email a@b && git config user.name n && for i in 1 2 3; do echo $i "
                "> f; git add f; "
                "GIT_AUTHOR_DATE='1000000000 +0000' GIT_COMMITTER_DATE='1000000000 +0000' git commit -qm $i; done; "
                "git log --format=%H; "
                "git diff HEAD~2 | cat"),
    "goroutines": Case(["./goroutines"], needs=["go"], prepare=COMPILED.format("goroutines.go",
            "HOME=$SHARED GOFLAGS= go build goroutines.go"), threads=4),
    "workers": Case(["node", "workers.js"], needs=["node"], prepare='cp "$SOURCES/workers.js" .', threads=4),
    "java_threads": Case(["java", "-Xshare:auto", "-XX:+UseSerialGC", "-cp", ".", "Threads"], needs=["javac"],
                         prepare=COMPILED.format("Threads.java", "javac Threads.java"), threads=8),
    "luajit": Case(["luajit", "jit.lua"], needs=["luajit"], prepare='cp "$SOURCES/jit.lua" .'),
    "ruby": Case(["ruby", "threads.rb"], needs=["ruby"], prepare='cp "$SOURCES/threads.rb" .', threads=5),
    "lisp": Case(["sbcl", "--script", "conditions.lisp"], needs=["sbcl"], prepare='cp "$SOURCES/conditions.lisp" .',
                 threads=5),
    "musl": Case(["./other_libc"], needs=["musl-gcc"], prepare=COMPILED.format("other_libc.c",
            "musl-gcc -O2 other_libc.c -o other_libc"), threads=9),
    "musl_static": Case(["./other_libc"], needs=["musl-gcc"], prepare=COMPILED.format("other_libc.c",
            "musl-gcc -O2 -static other_libc.c -o other_libc"), threads=9),
    "make": Case(["make", "-j2"], needs=["make", "gcc"], prepare="""
for i in 1 2 3 4; do echo "int f$i(int x) { return x * $i; }" > f$i.c; objects="$objects f$i.o"; done
echo 'int f1(int), f2(int), f3(int), f4(int); int main(void) { return f1(1) + f2(2) + f3(3) + f4(4); }' > main.c
printf 'program: main.o %s\\n\\tgcc -o $@ $^\\n\\t./program; echo $$?\\n%%.o: %%.c\\n\\t@gcc -O2 -c $<\\n' "$objects" > Makefile
""", artefacts=["program"]),
    "ffmpeg": Case(["ffmpeg", "-hide_banner", "-loglevel", "error", "-f", "lavfi", "-i", "testsrc=duration=1:size=160x120:rate=10",
                    "-c:v", "mpeg4", "-threads", "2", "-flags", "bitexact", "-fflags", "bitexact", "out.avi"], needs=["ffmpeg"],
                   artefacts=["out.avi"], threads=3, instructions=10_000_000),
    "postgres": Case(["bash", "./use_postgres.sh"], needs=["/usr/bin/pg_lsclusters"], errors=False, instructions=10_000_000,
                     prepare='chmod 711 "$SHARED"; cp "$SOURCES/use_postgres.sh" .'),
    "python_mmap": python_tests("test_mmap.py"),
    "python_ctypes": python_tests("test_ctypes.py", slow=True, seconds=1000),
    "python_os": python_tests("test_os.py", slow=True, seconds=1000),
    "python_threading": python_tests("test_threading.py", slow=True, seconds=1000),
    "python_signal": python_tests("test_signal.py", slow=True, seconds=1000),
    "python_subprocess": python_tests("test_subprocess.py", slow=True, seconds=2000),
    # Servers: the load comes from outside of the simulation.
    "redis": Case(["redis-server", "--port", "0", "--unixsocket", "./socket", "--save", "", "--io-threads", "3",
                   "--io-threads-do-reads", "yes"], needs=["redis-server", "redis-benchmark"],
                  prepare='sh "$SOURCES/use_redis.sh" > load.out 2>&1 &', artefacts=["load.out"],
                  shape=lambda text: b"", threads=3),
    "nginx": Case(["/usr/sbin/nginx", "-p", ".", "-c", "nginx.conf"], needs=["/usr/sbin/nginx"], prepare=NGINX,
                  artefacts=["load.out"], errors=False),
}
