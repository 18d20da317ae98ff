import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/**
 * Run time so far of each thread of some processes, in nanoseconds by the scheduler's own clock.
 * The threads of the JIT compilers are apart: their work ends, and that of the server does not.
 *
 * @param threads by process and thread id
 * @param compilers the same of the compilers' threads
 */
record CpuTime(Map<String, Long> threads, Map<String, Long> compilers) {
  static CpuTime of(List<Process> processes) throws IOException {
    CpuTime time = new CpuTime(new HashMap<>(), new HashMap<>());
    for (Process process : processes) {
      time.add(process.pid(), name -> false, "");
    }
    return time;
  }

  /**
   * Returns the same of this process, without the threads of the garbage collector and without the
   * calling thread, which measures.
   */
  static CpuTime ofApplication() throws IOException {
    CpuTime time = new CpuTime(new HashMap<>(), new HashMap<>());
    String measures = Path.of("/proc/thread-self").toRealPath().getFileName().toString();
    time.add(ProcessHandle.current().pid(), CpuTime::isCollector, measures);
    return time;
  }

  /**
   * @param leftOut names of threads that do not count
   * @param measures id of a thread that does not count
   */
  private void add(long process, Predicate<String> leftOut, String measures) throws IOException {
    try (DirectoryStream<Path> tasks =
        Files.newDirectoryStream(Path.of("/proc/" + process + "/task"))) {
      for (Path task : tasks) {
        if (!task.endsWith(measures)) {
          add(task, leftOut);
        }
      }
    }
  }

  private void add(Path task, Predicate<String> leftOut) throws IOException {
    try {
      String figures = Files.readString(task.resolve("schedstat"));
      String name = Files.readString(task.resolve("comm"));
      if (!leftOut.test(name)) {
        (isCompiler(name) ? compilers : threads)
            .put(task.toString(), Long.parseLong(figures.substring(0, figures.indexOf(' '))));
      }
    } catch (NoSuchFileException ended) {
      // The thread ended between the list and the read.
    }
  }

  /**
   * Returns whether a thread is a JIT compiler, by its name in the kernel, for example {@code C2
   * CompilerThread0}. The kernel cuts names to 15 characters.
   */
  static boolean isCompiler(String name) {
    return name.contains(" CompilerThre");
  }

  /** Returns whether a thread belongs to the garbage collector G1, by its name in the kernel. */
  static boolean isCollector(String name) {
    return name.startsWith("GC Thread#") || name.startsWith("G1 ");
  }

  /** Returns the microseconds of all threads except the compilers since an earlier time. */
  double microsSince(CpuTime before) {
    return between(before.threads, threads);
  }

  /** Returns the microseconds of the compilers' threads since an earlier time. */
  double compilerMicrosSince(CpuTime before) {
    return between(before.compilers, compilers);
  }

  /** Share of the compilers in all run time since an earlier time, from 0 to 1. */
  double compilerShareSince(CpuTime before) {
    double compiling = compilerMicrosSince(before);
    return compiling / Math.max(1, compiling + microsSince(before));
  }

  private static double between(Map<String, Long> before, Map<String, Long> after) {
    long nanos = 0;
    for (Map.Entry<String, Long> thread : after.entrySet()) {
      nanos += thread.getValue() - before.getOrDefault(thread.getKey(), 0L);
    }
    return nanos / 1e3;
  }
}
