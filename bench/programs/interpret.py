"""Interpreter work: calls, a dictionary, strings; argument: rounds."""
import sys


class Account:
    def __init__(self, start):
        self.total = start

    def add(self, amount):
        self.total += amount
        return self.total


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def main(rounds):
    words = {}
    account = Account(0)
    for i in range(rounds):
        key = "k%d" % (i * 7919 % 5003)
        words[key] = words.get(key, 0) + account.add(i & 7)
        if i % 1000 == 0:
            account.add(fibonacci(12))
    print(account.total, sum(words.values()))


main(int(sys.argv[1]))
