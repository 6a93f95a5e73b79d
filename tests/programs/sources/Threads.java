// A compiled and collected Java program: null checks by fault, a stack that overflows, a pool of threads.
import java.util.*;
import java.util.concurrent.*;

public class Threads {
  static class Node { int value; }

  static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
  static int depth(int n) { return depth(n + 1) + 1; }

  public static void main(String[] arguments) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    List<Future<Integer>> results = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      final int n = 12 + i % 8;
      results.add(pool.submit(() -> fibonacci(n)));
    }
    long sum = 0;
    for (Future<Integer> f : results) sum += f.get();
    pool.shutdown();
    System.out.println(sum);
    int nulls = 0;
    for (int i = 0; i < 30000; i++) {
      Node node = i % 1000 == 0 ? null : new Node();
      try {
        node.value = i;
      } catch (NullPointerException e) {
        nulls++;
      }
    }
    System.out.println(nulls);
    try {
      depth(0);
    } catch (StackOverflowError e) {
      System.out.println("stack overflow");
    }
    try {
      System.out.println(1 / arguments.length);
    } catch (ArithmeticException e) {
      System.out.println("division by zero");
    }
    List<byte[]> garbage = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      garbage.add(new byte[10000]);
      if (garbage.size() > 100) garbage.clear();
    }
    System.gc();
    System.exit(3);
  }
}
