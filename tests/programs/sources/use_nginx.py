"""Load for an nginx at ./socket that somebody starts; ends it by SIGQUIT."""
import os
import signal
import socket
import threading
import time


def get(path, times):
    total = 0
    for _ in range(times):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect("socket")
            s.sendall(b"GET %s HTTP/1.0\r\n\r\n" % path)
            while data := s.recv(65536):
                total += len(data.split(b"\r\n\r\n", 1)[-1]) if data.startswith(b"HTTP") else len(data)
    totals.append(total)


totals = []
for _ in range(600):
    try:
        get(b"/file", 1)
        break
    except OSError:
        time.sleep(0.1)
threads = [threading.Thread(target=get, args=(path, 20)) for path in (b"/file", b"/file", b"/none", b"/file")]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sum(t for t in totals if t % 50000 == 0), len(totals), flush=True)
with open("pid") as pid:
    os.kill(int(pid.read()), signal.SIGQUIT)
