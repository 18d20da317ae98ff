package dev.berth.it;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** The commands of a document, each with the answer that the document shows below it. */
final class Tour {
  private static final String RUN = "java -jar target/berth.jar run ";

  /**
   * A command and its answer.
   *
   * @param config the file of the server that it is for, as the last {@code run} command names it
   * @param heading the section it stands in
   * @param line of the document, for messages
   */
  record Step(String config, String heading, int line, String command, List<String> answer) {
    /**
     * What is wrong with an answer; empty when nothing is. {@code …} stands for anything within a
     * line, and alone in a line for any lines. Header lines may come in any order, among others.
     */
    String mismatch(String actual) {
      List<String> got = actual.replace("\r", "").lines().toList();
      List<String> expected = new ArrayList<>(answer);
      if (!expected.isEmpty() && expected.get(0).startsWith("HTTP/")) {
        int gotBlank = got.indexOf("");
        List<String> gotHead = got.subList(0, gotBlank < 0 ? got.size() : gotBlank);
        int blank = expected.indexOf("");
        for (String header : expected.subList(0, blank < 0 ? expected.size() : blank)) {
          Pattern wanted = pattern(header, Pattern.CASE_INSENSITIVE);
          if (gotHead.stream().noneMatch(each -> wanted.matcher(each).matches())) {
            return "no line " + header + " in " + gotHead;
          }
        }
        expected = blank < 0 ? List.of("…") : expected.subList(blank + 1, expected.size());
        got = gotBlank < 0 ? List.of() : got.subList(gotBlank + 1, got.size());
      }
      return matches(expected, got) ? "" : "expected " + expected + ", got " + got;
    }

    private static boolean matches(List<String> expected, List<String> got) {
      if (expected.isEmpty()) {
        return got.isEmpty();
      }
      List<String> rest = expected.subList(1, expected.size());
      if (expected.get(0).equals("…")) {
        for (int skipped = 0; skipped <= got.size(); skipped++) {
          if (matches(rest, got.subList(skipped, got.size()))) {
            return true;
          }
        }
        return false;
      }
      return !got.isEmpty()
          && pattern(expected.get(0), 0).matcher(got.get(0)).matches()
          && matches(rest, got.subList(1, got.size()));
    }

    private static Pattern pattern(String line, int flags) {
      StringBuilder regex = new StringBuilder();
      for (String part : line.split("…", -1)) {
        regex.append(regex.isEmpty() ? "" : ".*").append(Pattern.quote(part));
      }
      return Pattern.compile(regex.toString(), flags);
    }

    @Override
    public String toString() {
      return heading + ", line " + line;
    }
  }

  private Tour() {}

  /** Every {@code sh} block of one curl command that is followed by a block without a language. */
  static List<Step> of(Path document) throws IOException {
    List<String> lines = Files.readAllLines(document);
    List<Step> steps = new ArrayList<>();
    String heading = "";
    String config = "";
    for (int i = 0; i < lines.size(); i++) {
      String line = lines.get(i);
      if (line.startsWith("#")) {
        heading = line.replaceFirst("#+ ", "");
      } else if (line.equals("```sh") && lines.get(i + 1).startsWith(RUN)) {
        config = lines.get(i + 1).substring(RUN.length()).strip();
        i = endOf(lines, i);
      } else if (line.equals("```sh") && lines.get(i + 1).startsWith("curl ")) {
        int end = endOf(lines, i);
        int answer = end + 1;
        while (lines.get(answer).isBlank()) {
          answer++;
        }
        if (end != i + 2 || !lines.get(answer).equals("```")) {
          throw new AssertionError(
              document + ":" + (i + 1) + ": (expected: one command, then its answer)");
        }
        int answerEnd = endOf(lines, answer);
        steps.add(
            new Step(
                config,
                heading,
                i + 2,
                lines.get(i + 1),
                List.copyOf(lines.subList(answer + 1, answerEnd))));
        i = answerEnd;
      } else if (line.startsWith("```")) {
        i = endOf(lines, i);
      }
    }
    return steps;
  }

  private static int endOf(List<String> lines, int block) {
    int end = block + 1;
    while (!lines.get(end).equals("```")) {
      end++;
    }
    return end;
  }
}
