# Threads, locks, queues, generators, exceptions and a process pool's worth of objects in CPython.
import hashlib
import queue
import threading

results, lock = {}, threading.Lock()


def work(number):
    digest = hashlib.md5()
    for i in range(300):
        digest.update(repr({"n": number, "i": i, "squares": [j * j for j in range(i % 30)]}).encode())
    with lock:
        results[number] = digest.hexdigest()


threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for number in sorted(results):
    print(number, results[number])

items, done = queue.Queue(maxsize=4), []


def consume():
    while (item := items.get()) is not None:
        done.append(item * 2)


consumer = threading.Thread(target=consume)
consumer.start()
for i in range(500):
    items.put(i)
items.put(None)
consumer.join()
print(sum(done))


def fibonacci():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b


numbers = fibonacci()
print([next(numbers) for _ in range(300)][-1])
try:
    raise ValueError("as expected")
except ValueError as error:
    print(error)
