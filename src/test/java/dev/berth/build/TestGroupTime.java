package dev.berth.build;

import java.io.IOException;
import java.io.Reader;
import java.io.Writer;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

/**
 * What one group of tests took, from the start of its first process to the end of its last one.
 *
 * @param group the name of the group, as the build calls it
 * @param tests tests run
 * @param failed tests and containers that failed
 * @param startMs milliseconds of the epoch
 * @param endMs milliseconds of the epoch
 */
record TestGroupTime(String group, int tests, int failed, long startMs, long endMs) {

  double seconds() {
    return (endMs - startMs) / 1000.0;
  }

  TestGroupTime and(TestGroupTime other) {
    return new TestGroupTime(
        group,
        tests + other.tests,
        failed + other.failed,
        Math.min(startMs, other.startMs),
        Math.max(endMs, other.endMs));
  }

  void write(Path directory, long process) throws IOException {
    Properties properties = new Properties();
    properties.setProperty("group", group);
    properties.setProperty("tests", Integer.toString(tests));
    properties.setProperty("failed", Integer.toString(failed));
    properties.setProperty("startMs", Long.toString(startMs));
    properties.setProperty("endMs", Long.toString(endMs));
    Files.createDirectories(directory);
    try (Writer out =
        Files.newBufferedWriter(directory.resolve(group + "-" + process + ".properties"))) {
      properties.store(out, null);
    }
  }

  /** The times by group; empty when no group ran. */
  static Map<String, TestGroupTime> readAll(Path directory) throws IOException {
    Map<String, TestGroupTime> times = new TreeMap<>();
    if (!Files.isDirectory(directory)) {
      return times;
    }
    try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*.properties")) {
      for (Path file : files) {
        Properties properties = new Properties();
        try (Reader in = Files.newBufferedReader(file)) {
          properties.load(in);
        }
        TestGroupTime time =
            new TestGroupTime(
                properties.getProperty("group"),
                Integer.parseInt(properties.getProperty("tests")),
                Integer.parseInt(properties.getProperty("failed")),
                Long.parseLong(properties.getProperty("startMs")),
                Long.parseLong(properties.getProperty("endMs")));
        times.merge(time.group(), time, TestGroupTime::and);
      }
    }
    return times;
  }

  @Override
  public String toString() {
    return String.format(
        Locale.ROOT,
        "%s: %d tests in %.1f s%s",
        group,
        tests,
        seconds(),
        failed == 0 ? "" : ", " + failed + " failed");
  }
}
