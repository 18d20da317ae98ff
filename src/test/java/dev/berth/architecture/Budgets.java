package dev.berth.architecture;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * {@code docs/budgets.txt}: lines {@code KIND NAME MOST [+MORE RECORD]…}. Each raise names the
 * decision record that says what it is worth, and which names what is raised.
 */
record Budgets(Map<String, Integer> most, List<String> problems) {
  static final Path FILE = Path.of("docs/budgets.txt");

  private static final Pattern LINE =
      Pattern.compile("(total|package|file|parameters|words) (\\S+) (\\d+)((?: \\+\\d+ \\d{4})*)");
  private static final Pattern RAISE = Pattern.compile("\\+(\\d+) (\\d{4})");

  /**
   * @param records the folder of the decision records
   */
  static Budgets of(List<String> lines, Path records) throws IOException {
    Map<String, Integer> most = new HashMap<>();
    List<String> problems = new ArrayList<>();
    for (String line : lines) {
      if (line.isBlank() || line.startsWith("#")) {
        continue;
      }
      Matcher parts = LINE.matcher(line.strip());
      if (!parts.matches()) {
        problems.add("%s: %s (expected: KIND NAME MOST [+MORE RECORD]…)".formatted(FILE, line));
        continue;
      }
      int figure = Integer.parseInt(parts.group(3));
      Matcher raise = RAISE.matcher(parts.group(4));
      while (raise.find()) {
        figure += Integer.parseInt(raise.group(1));
        if (!recorded(records, raise.group(2), parts.group(2))) {
          problems.add(
              "%s: %s (expected: a record %s in %s that names %s)"
                  .formatted(FILE, line, raise.group(2), records, parts.group(2)));
        }
      }
      most.put(parts.group(1) + " " + parts.group(2), figure);
    }
    return new Budgets(most, problems);
  }

  private static boolean recorded(Path records, String number, String name) throws IOException {
    try (Stream<Path> found = Files.list(records)) {
      for (Path record : (Iterable<Path>) found::iterator) {
        if (record.getFileName().toString().startsWith(number)) {
          return Files.readString(record).contains(name);
        }
      }
    }
    return false;
  }

  int of(String kind, String name, int otherwise) {
    return most.getOrDefault(kind + " " + name, otherwise);
  }
}
