package dev.berth.architecture;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The tables of {@code docs/seeds.md}: what a seed says on the left, where we hold it on the right.
 *
 * <p>An answer is one or more {@code `TestClass#method`}, or a word that says why there is none
 * yet, with the reason after a colon.
 */
record SeedTable(List<Row> rows, List<String> problems) {
  /** When a row without a test gets one; the first three name the version that brings it. */
  private static final Set<String> WORDS =
      Set.of("with Serving", "with Speed", "with Lifecycle", "later", "no counterpart");

  private static final Pattern TEST = Pattern.compile("`(\\w+)#(\\w+)`");
  private static final Pattern RULE = Pattern.compile("\\|(\\s*:?-+:?\\s*\\|)+");

  /** One line of a table. */
  record Row(int line, String section, String what, List<TestName> tests) {}

  /** A test method by the simple name of its class. */
  record TestName(String type, String method) {
    @Override
    public String toString() {
      return type + "#" + method;
    }
  }

  static SeedTable parse(List<String> lines) {
    List<Row> rows = new ArrayList<>();
    List<String> problems = new ArrayList<>();
    String section = "";
    for (int index = 0; index < lines.size(); index++) {
      String line = lines.get(index).strip();
      if (line.startsWith("#")) {
        section = line.replaceFirst("#+\\s*", "");
      }
      boolean head = index + 1 < lines.size() && RULE.matcher(lines.get(index + 1)).matches();
      if (!line.startsWith("|") || head || RULE.matcher(line).matches()) {
        continue;
      }
      String[] cells = line.substring(1).split("(?<!\\\\)\\|", -1);
      if (cells.length != 3 || !cells[2].isBlank()) {
        problems.add("line " + (index + 1) + ": " + line + " (expected: two cells)");
        continue;
      }
      rows.add(row(index + 1, section, cells[0].strip(), cells[1].strip(), problems));
    }
    return new SeedTable(List.copyOf(rows), List.copyOf(problems));
  }

  private static Row row(
      int line, String section, String what, String answer, List<String> problems) {
    List<TestName> tests = new ArrayList<>();
    Matcher matcher = TEST.matcher(answer);
    while (matcher.find()) {
      tests.add(new TestName(matcher.group(1), matcher.group(2)));
    }
    String[] word = answer.split(":", 2);
    boolean named = matcher.replaceAll("").matches("[,\\s]*") && !tests.isEmpty();
    boolean reasoned = WORDS.contains(word[0].strip()) && word.length == 2 && !word[1].isBlank();
    if (!named && !reasoned) {
      problems.add(
          "line %d: %s: %s (expected: `TestClass#method`, ..., or one of %s with a reason)"
              .formatted(line, what, answer.isEmpty() ? "no answer" : answer, WORDS));
    }
    return new Row(line, section, what, List.copyOf(tests));
  }
}
