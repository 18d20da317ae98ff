import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * A server's log, read for what should not be in it. A failure of a handler is a warning, once for
 * each class of failure and replica; these are expected here, since the handlers fail on purpose.
 */
final class SoakLog {
  /** Begins a line of the log; what does not match belongs to the line before: a stack. */
  private static final Pattern LINE = Pattern.compile("\\d{4}-\\d{2}-\\d{2}T\\S+ (\\w+) .*");

  /** The lines at warn or above that are expected, by what they are. */
  private static final Map<String, Pattern> EXPECTED =
      Map.of(
          "first failure of its class in a replica",
          Pattern.compile(
              ".* WARN +FailureLog - replica \\S+: .*; more (SoakApps\\$OnPurpose"
                  + "|dev\\.berth\\.api\\.BerthException\\S*) are counted, not logged.*"));

  /** How many there were of each expected kind. */
  final Map<String, Integer> expected = new LinkedHashMap<>();

  /** Lines at warn or above that nothing explains. */
  final List<String> unexpected = new ArrayList<>();

  SoakLog(Path file) throws IOException {
    EXPECTED.keySet().forEach(kind -> expected.put(kind, 0));
    try (var lines = Files.lines(file)) {
      lines.forEach(this::read);
    }
  }

  private void read(String line) {
    var found = LINE.matcher(line);
    if (!found.matches() || !List.of("WARN", "ERROR").contains(found.group(1))) {
      if (line.startsWith("Exception in thread") || line.startsWith("OpenJDK 64-Bit Server VM")) {
        unexpected.add(line);
      }
      return;
    }
    for (Map.Entry<String, Pattern> kind : EXPECTED.entrySet()) {
      if (kind.getValue().matcher(line).matches()) {
        expected.merge(kind.getKey(), 1, Integer::sum);
        return;
      }
    }
    unexpected.add(line);
  }
}
