package dev.berth.architecture;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The code as it stands is tidy, and what is not is caught: a violation of each rule is planted.
 */
class TidyTest {
  private static final Path RECORDS = Path.of("docs/decisions");

  private static Tidy main;

  @TempDir Path dir;

  @BeforeAll
  static void readTheSources() throws IOException {
    main = Tidy.of(Path.of("src/main/java"), Budgets.of(Files.readAllLines(Budgets.FILE), RECORDS));
    assertThat(main.sources()).hasSizeGreaterThan(300);
  }

  /** A rule, a violation of it, what is said, and what is near it and allowed. */
  static Stream<Arguments> rules() {
    String types = "package p; class %s {}";
    String call = "int a, int b, int c, int d, int e, int f, int g, int h";
    return Stream.of(
        rule(
            "crowded",
            Tidy::crowdedPackages,
            Stream.iterate(0, n -> n + 1).limit(41).map(n -> types.formatted("T" + n)).toList(),
            "p: 41 files (expected: at most 40; find its layers",
            Stream.iterate(0, n -> n + 1).limit(40).map(n -> types.formatted("T" + n)).toList()),
        rule(
            "long",
            Tidy::longFilesWithoutReason,
            List.of(
                "/** Long. */ package p; class T {" + "\n".repeat(500) + "// over 500 lines\n}"),
            "p/T.java: 502 lines (expected: at most 500, or a first comment with \"over 500 lines\"",
            List.of(
                "/* Over 500 lines: a table. */ package p; class T {" + "\n".repeat(600) + "}",
                "package p; class Told {" + "\n".repeat(501) + "}")),
        rule(
            "parameters",
            Tidy::manyParameters,
            List.of("package p; class T { class In { In(" + call + ", int i) {} } }"),
            "p/T.java: In#new takes 9 parameters (expected: at most 8; make a record",
            List.of(
                "package p; record T(" + call + ", int i) { T(" + call + ", int i, int j) {} }",
                "package p; class Told { Told(" + call + ", int i) {} void m(" + call + ") {} }")),
        rule(
            "names",
            Tidy::namesThatStandTwice,
            List.of("package p; class T {}", "package q; interface T {}"),
            "q/T.java: T is in p too (expected: one type of a name",
            List.of("package p; class T { class In {} }", "package q; class In {}")),
        rule(
            "dangling",
            Tidy::danglingComments,
            List.of("package p; class T {\n int m() {\n /** None. */ int a = 1; return a; } }"),
            "p/T.java:3: a documentation comment of nothing (expected: one just before",
            List.of(
                "/** P. */ package p; /** T. */ // of it\n @Deprecated class T { /** F. */ int f;"
                    + " String s = \"/** no */\"; /* m */ /** M. */ T() {} /* /** */ }",
                "package p; /** E. */ enum E { /** A. */ A, /** B. */ B { /** M. */ void m() {} } }")),
        rule(
            "doubled",
            Tidy::danglingComments,
            List.of("package p; /** Of T. */ /** Of T too. */ class T {}"),
            "p/T.java:1: a documentation comment of nothing",
            List.of("package p; /* Of T. */ /** Of T too. */ class T {}")),
        rule(
            "budget",
            Tidy::packagesOverBudget,
            List.of("package p;\nimport java.util.*;\n/** A\n * doc. */\nclass T {\n // two\n\n}"),
            "p: 3 code lines (expected: at most 2, by docs/budgets.txt; take some away, or write a"
                + " decision record and add \"+1\" and its number",
            List.of("package q;\nclass T {\n}")));
  }

  private static Arguments rule(
      String name,
      Function<Tidy, List<String>> rule,
      List<String> violation,
      String said,
      List<String> allowed) {
    return Arguments.of(name, rule, violation, said, allowed);
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("rules")
  void theCodeObeysARuleThatCanFail(
      String name,
      Function<Tidy, List<String>> rule,
      List<String> violation,
      String said,
      List<String> allowed)
      throws IOException {
    assertThat(rule.apply(main)).isEmpty();
    assertThat(rule.apply(planted("bad", violation))).singleElement().asString().startsWith(said);
    assertThat(rule.apply(planted("good", allowed))).isEmpty();
  }

  @Test
  void totalBoundsAllPackagesTogether() throws IOException {
    Path root = Files.createDirectories(dir.resolve("all"));
    plant("all", "package p;\nclass T {}");
    plant("all", "package q;\nclass T {}");
    List<String> packages = List.of("package p 2", "package q 2");
    assertThat(Tidy.of(root, budgets(packages, 4)).packagesOverBudget()).isEmpty();
    assertThat(Tidy.of(root, budgets(packages, 3)).packagesOverBudget())
        .singleElement()
        .asString()
        .startsWith("src/main: 4 code lines (expected: at most 3 in all");
  }

  private Budgets budgets(List<String> packages, int total) throws IOException {
    List<String> lines = new ArrayList<>(packages);
    lines.add("total src/main " + total);
    return Budgets.of(lines, dir);
  }

  @Test
  void aRaiseNamesARecordThatNamesWhatIsRaised() throws IOException {
    Files.writeString(dir.resolve("0099-more.md"), "p is worth it");
    Budgets budgets = Budgets.of(List.of("package p 5 +3 0099", "package q 5 +3 0099", "p 5"), dir);
    assertThat(budgets.of("package", "p", 0)).isEqualTo(8);
    assertThat(budgets.problems())
        .hasSize(2)
        .anyMatch(problem -> problem.contains("a record 0099 in " + dir + " that names q"))
        .anyMatch(problem -> problem.contains("KIND NAME MOST"));
  }

  /**
   * The compiler itself refuses a link to nowhere, in private comments too, by an option in the
   * pom.
   */
  @Test
  void aLinkToNowhereIsNotCompiled() throws IOException {
    Matcher doclint =
        Pattern.compile("<arg>(-Xdoclint:\\S+)</arg>")
            .matcher(Files.readString(Path.of("pom.xml")));
    assertThat(doclint.find()).isTrue();
    for (String tag : List.of("{@link Nowhere}", "@see Nowhere", "@param nobody x")) {
      Path file =
          plant("lint", "package p; class T { /** %s */ private void m() {} }".formatted(tag));
      StringWriter said = new StringWriter();
      JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
      try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
        List<String> options = List.of("-proc:none", "-d", dir.toString(), doclint.group(1));
        assertThat(
                compiler
                    .getTask(said, files, null, options, null, files.getJavaFileObjects(file))
                    .call())
            .as(tag)
            .isFalse();
      }
      assertThat(said.toString()).containsAnyOf("reference not found", "@param name not found");
    }
  }

  private Tidy planted(String folder, List<String> sources) throws IOException {
    for (String source : sources) {
      plant(folder, source);
    }
    List<String> told =
        List.of(
            "total src/main 5000",
            "package p 2",
            "package q 3",
            "file p/Told.java 502",
            "parameters Told#new 9");
    return Tidy.of(Files.createDirectories(dir.resolve(folder)), Budgets.of(told, dir));
  }

  private Path plant(String folder, String source) throws IOException {
    Path of = Files.createDirectories(dir.resolve(folder).resolve(first("package (\\w)", source)));
    return Files.writeString(
        of.resolve(first("(?:class|interface|record|enum) (\\w+)", source) + ".java"), source);
  }

  private static String first(String pattern, String source) {
    Matcher found = Pattern.compile(pattern).matcher(source);
    assertThat(found.find()).as(source).isTrue();
    return found.group(1);
  }
}
