import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

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
      try (DirectoryStream<Path> tasks =
          Files.newDirectoryStream(Path.of("/proc/" + process.pid() + "/task"))) {
        for (Path task : tasks) {
          time.add(task);
        }
      }
    }
    return time;
  }

  private void add(Path task) throws IOException {
    try {
      String figures = Files.readString(task.resolve("schedstat"));
      (isCompiler(Files.readString(task.resolve("comm"))) ? compilers : threads)
          .put(task.toString(), Long.parseLong(figures.substring(0, figures.indexOf(' '))));
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
