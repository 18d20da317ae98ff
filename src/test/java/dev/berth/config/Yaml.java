package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.berth.config.keys.ConfigProblem;
import dev.berth.config.keys.Settings;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.api.AbstractStringAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;

/** Short texts, read as if each were a file named {@code berth.yaml}. */
public final class Yaml {

  /** The least a file must say, to append to. */
  static final String NO_APPLICATIONS = "applications: []\n";

  private Yaml() {}

  public static ServeConfig read(String text) {
    return ConfigReader.read("berth.yaml", Path.of(""), text);
  }

  /** As any reader of YAML takes it, in the order of the text. */
  static Object plain(String text) {
    return new Load(LoadSettings.builder().build()).loadFromString(text);
  }

  /** Of a file with these lines and no applications. */
  static ServeConfig options(String lines) {
    return read(NO_APPLICATIONS + lines);
  }

  static List<String> optionProblems(String lines) {
    return problems(NO_APPLICATIONS + lines);
  }

  /** The only application of a file that gives it these lines beside its import path. */
  static ApplicationConfig application(String... lines) {
    return read(applicationText(lines)).applications().get(0);
  }

  /** The only deployment of a file that gives it these lines beside its name. */
  static Settings deployment(String... lines) {
    return read(deploymentText(lines)).applications().get(0).deployments().get(0);
  }

  /** Every problem of a text, a line each; empty when it is valid. */
  static List<String> problems(String text) {
    return problems(() -> read(text));
  }

  /** What code says that the file could not say. */
  static void refused(ThrowingCallable said, String message) {
    assertThatThrownBy(said).isInstanceOf(IllegalArgumentException.class).hasMessage(message);
  }

  static List<String> problems(ThrowingCallable reading) {
    ConfigException refused = catchThrowableOfType(ConfigException.class, reading);
    return refused == null
        ? List.of()
        : refused.problems().stream().map(ConfigProblem::toString).toList();
  }

  static AbstractStringAssert<?> onlyProblem(List<String> problems) {
    return assertThat(problems).singleElement().asString();
  }

  /** Beside warnings. */
  static AbstractStringAssert<?> onlyRefusal(List<String> problems) {
    return onlyProblem(problems.stream().filter(each -> !each.contains(" warning: ")).toList());
  }

  /** The problems of an application that has these lines beside its import path. */
  static List<String> applicationProblems(String... lines) {
    return problems(applicationText(lines));
  }

  /** The problems of a deployment that has these lines beside its name. */
  static List<String> deploymentProblems(String... lines) {
    return problems(deploymentText(lines));
  }

  /** The lines start at line 3, column 5. */
  private static String applicationText(String... lines) {
    return "applications:\n  - import_path: com.acme.Shop\n" + indented("    ", lines);
  }

  /** The lines start at line 5, column 9. */
  private static String deploymentText(String... lines) {
    return "applications:\n  - import_path: com.acme.Shop\n    deployments:\n      - name: cart\n"
        + indented("        ", lines);
  }

  private static String indented(String indent, String... lines) {
    StringBuilder text = new StringBuilder();
    for (String line : lines) {
      text.append(indent).append(line).append('\n');
    }
    return text.toString();
  }
}
