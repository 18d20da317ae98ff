package dev.berth.mutants;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.pitest.mutationtest.config.PluginServices;
import org.pitest.mutationtest.config.ReportOptions;
import org.pitest.mutationtest.tooling.AnalysisResult;
import org.pitest.mutationtest.tooling.EntryPoint;
import org.pitest.testapi.TestGroupConfig;
import org.pitest.util.Glob;
import org.pitest.util.Verbosity;

/**
 * Negates conditions of the code, one at a time, runs the unit tests that reach the line, and
 * prints the conditions that no test would miss: {@code mvn -B -Pmutants test}.
 */
public final class Mutants {
  private Mutants() {}

  /**
   * Arguments: the folder of the classes, that of the report, the packages by commas, the seed, and
   * how many conditions of a hundred are negated.
   */
  public static void main(String[] args) throws IOException {
    Path report = Path.of(args[1]);
    List<String> packages = List.of(args[2].split(","));
    System.out.printf(
        "negates %s %% of the conditions of %s, seed %s%n", args[4], packages, args[3]);

    ReportOptions options = new ReportOptions();
    options.setProjectBase(Path.of("").toAbsolutePath());
    options.setCodePaths(List.of(args[0]));
    options.setClassPathElements(
        Arrays.asList(System.getProperty("java.class.path").split(File.pathSeparator)));
    options.setSourceDirs(List.of(Path.of("src/main/java")));
    options.setReportDir(report.toString());
    options.setShouldCreateTimestampedReports(false);
    options.setTargetClasses(packages.stream().map(name -> "dev.berth." + name + ".*").toList());
    // The tests of a package within another may stand beside the other's.
    options.setTargetTests(
        Glob.toGlobPredicates(
            packages.stream().map(name -> "dev.berth." + name.split("\\.")[0] + ".*").toList()));
    options.setGroupConfig(
        new TestGroupConfig().withExcludedGroups("simulation", "concurrency", "lincheck"));
    options.setMutators(List.of("NEGATE_CONDITIONALS"));
    options.setFeatures(
        List.of("+%s(seed[%s] percent[%s])".formatted(Sample.NAME, args[3], args[4])));
    options.addOutputFormats(List.of("CSV"));
    // A JVM may crash over what is redefined in it; its condition counts as neither missed nor
    // told.
    options.setArgLine("-Xmx1g -XX:ErrorFile=" + report.resolve("hs_err_%p.log"));
    options.setTimeoutConstant(3_000);
    options.setSkipFailingTests(true);
    options.setNumberOfThreads(Runtime.getRuntime().availableProcessors());
    options.setVerbosity(Verbosity.QUIET);

    AnalysisResult result =
        new EntryPoint().execute(null, options, PluginServices.makeForContextLoader(), Map.of());
    result
        .getError()
        .ifPresent(
            error -> {
              throw new IllegalStateException(error);
            });
    print(Files.readAllLines(report.resolve("mutations.csv")));
  }

  /** Lines of {@code file, class, mutator, method, line, how it ended, by which test}. */
  private static void print(List<String> lines) {
    List<String[]> missed =
        lines.stream()
            .map(line -> line.split(",", -1))
            .filter(row -> row[5].matches("SURVIVED|NO_COVERAGE"))
            .toList();
    missed.forEach(row -> System.out.printf("%-11s %s:%s %s%n", row[5], row[1], row[4], row[3]));
    System.out.printf("negated %d conditions, %d survived%n", lines.size(), missed.size());
  }
}
