import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the kernel says of processes and of the machine, from {@code /proc}. */
final class ProcessFigures {
  /** The kernel counts processor time in hundredths of a second, on every Linux there is today. */
  private static final long MICROS_PER_TICK = 10_000;

  private ProcessFigures() {}

  /** User and system time of a process so far, in microseconds. */
  static long cpuMicros(long pid) throws IOException {
    String[] fields = stat(pid);
    return (Long.parseLong(fields[11]) + Long.parseLong(fields[12])) * MICROS_PER_TICK;
  }

  /** User time alone: of a short time it says little, of the sum of many what is right. */
  static long userMicros(long pid) throws IOException {
    return Long.parseLong(stat(pid)[11]) * MICROS_PER_TICK;
  }

  /** What all processors did so far but idle and wait, in microseconds; what was stolen counts. */
  static long machineCpuMicros() throws IOException {
    String[] fields = Files.readAllLines(Path.of("/proc/stat")).get(0).trim().split("\\s+");
    long ticks = 0;
    for (int i = 1; i <= 8 && i < fields.length; i++) {
      if (i != 4 && i != 5) { // idle and iowait
        ticks += Long.parseLong(fields[i]);
      }
    }
    return ticks * MICROS_PER_TICK;
  }

  /** Resident memory of a process, in KiB. */
  static long residentKib(long pid) throws IOException {
    return kib(Path.of("/proc/" + pid + "/status"), "VmRSS:");
  }

  static long machineMemoryKib() throws IOException {
    return kib(Path.of("/proc/meminfo"), "MemTotal:");
  }

  /** The load average of the last minute. */
  static double load() throws IOException {
    return Double.parseDouble(Files.readString(Path.of("/proc/loadavg")).split(" ")[0]);
  }

  static String processorModel() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/cpuinfo"))) {
      if (line.startsWith("model name")) {
        return line.substring(line.indexOf(':') + 1).trim();
      }
    }
    return "unknown";
  }

  private static long kib(Path file, String name) throws IOException {
    for (String line : Files.readAllLines(file)) {
      if (line.startsWith(name)) {
        return Long.parseLong(line.substring(name.length()).replace("kB", "").trim());
      }
    }
    throw new IOException(file + ": no " + name);
  }

  /** The fields after the command's name, which may hold spaces: the state is the first. */
  private static String[] stat(long pid) throws IOException {
    String stat = Files.readString(Path.of("/proc/" + pid + "/stat"));
    return stat.substring(stat.lastIndexOf(')') + 2).split(" ");
  }
}
