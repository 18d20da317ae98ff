package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.ApplicationConfig;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import io.vertx.core.Future;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Help.Ansi;

/** What stands under "Examples:" in any command's help may be pasted as it is printed. */
class HelpExamplesTest {
  private static final String QUICKSTART = "conf/quickstart.yaml";

  /** What the example of {@code berth cluster init} makes. */
  private static final String TRIAL = "trial/";

  private static CommandLine berth() {
    return Main.commandLine(
        (config, stop) -> Future.failedFuture("not started here"),
        CliEnvironment.ofProcess(() -> CompletableFuture.completedFuture("none")));
  }

  @Test
  void wordHelpShowsTheHelp() {
    StringWriter out = new StringWriter();
    CommandLine berth = berth().setOut(new PrintWriter(out, true));
    assertThat(berth.execute(Main.words("help"))).isZero();
    assertThat(out.toString()).contains("Usage: berth ", "berth new shop", "\n  dev ");
    assertThat(berth.execute(Main.words("help", "new"))).isZero();
    assertThat(out.toString()).contains("Usage: berth new ");
    assertThat(Main.words("new", "help")).containsExactly("new", "help");
  }

  /** Those of all commands, as their help prints them, lines that go on joined. */
  private static List<String> examples() {
    CommandLine berth = berth();
    List<String> all = new ArrayList<>();
    Stream.concat(Stream.of(berth), berth.getSubcommands().values().stream())
        .flatMap(each -> Stream.concat(Stream.of(each), each.getSubcommands().values().stream()))
        .distinct()
        .forEach(
            command -> {
              String help = command.getUsageMessage(Ansi.OFF);
              String name = command.getCommandName();
              assertThat(help).as(name).contains("\nExamples:\n");
              String examples = help.substring(help.indexOf("\nExamples:\n") + 11);
              List<String> lines =
                  examples.replace("\\\n", " ").lines().map(String::strip).toList();
              assertThat(lines).as(name).isNotEmpty().anyMatch(line -> line.contains("berth"));
              all.addAll(lines);
            });
    return all;
  }

  @Test
  void aShellTakesEachOfThem() throws Exception {
    Process bash = new ProcessBuilder("bash", "-n").redirectErrorStream(true).start();
    try (var in = bash.getOutputStream()) {
      in.write(String.join("\n", examples()).getBytes(StandardCharsets.UTF_8));
    }
    String said = new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(bash.waitFor()).as(said).isZero();
  }

  @Test
  void eachCommandOfThemIsOneThatThereIs() {
    for (String example : examples()) {
      for (List<String> command : commands(example)) {
        assertThat(command.get(0)).as(example).isIn("berth", "curl", "jq");
        if (command.get(0).equals("berth")) {
          List<String> words = command.subList(1, command.size());
          assertThat(berth().parseArgs(words.toArray(String[]::new)).errors()).isEmpty();
        }
      }
    }
  }

  @Test
  void filesAndApplicationsOfThemAreThoseOfTheClone() throws IOException {
    ServeConfig quickstart = quickstart();
    List<String> names = quickstart.applications().stream().map(ApplicationConfig::name).toList();
    assertThat(names).isNotEmpty();
    for (String example : examples()) {
      for (List<String> command : commands(example)) {
        for (int i = 1; i < command.size(); i++) {
          String word = command.get(i);
          if (word.endsWith(".yaml") && !word.startsWith(TRIAL)) {
            assertThat(Path.of(word)).as(example).isRegularFile();
          } else if (command.get(i - 1).equals("--app")
              || i == 2
                  && List.of("status", "config", "scale", "history", "rollback")
                      .contains(command.get(1))
                  && !word.startsWith("-")) {
            assertThat(word).as(example).isIn(names);
          }
        }
      }
    }
    assertThat(quickstart.applications())
        .filteredOn(each -> each.name().equals("echo"))
        .singleElement()
        .as("berth scale echo echo 4")
        .extracting(each -> each.get(ApplicationConfig.EXTERNAL_SCALER_ENABLED))
        .isEqualTo(true);
  }

  /** Its jar may not be built yet. */
  private static ServeConfig quickstart() throws IOException {
    String text = Files.readString(Path.of(QUICKSTART));
    return ConfigReader.read(
        "q", Path.of("."), text.replaceAll("\\[\\.\\./target/berth-examples.jar]", "[]"));
  }

  /**
   * As a shell would split them: assignments before a command and where its output goes left out.
   */
  private static List<List<String>> commands(String line) {
    List<List<String>> commands = new ArrayList<>(List.of(new ArrayList<>()));
    String rest = line.replaceFirst("^source <\\((.*)\\)$", "$1").replaceFirst(" > \\S+$", "");
    StringBuilder word = new StringBuilder();
    char quote = 0;
    for (char c : (rest + " ").toCharArray()) {
      if (quote != 0 || c == '\'' || c == '"') {
        boolean ends = quote == c;
        boolean begins = quote == 0;
        if (!ends && !begins) {
          word.append(c);
        }
        quote = ends ? 0 : begins ? c : quote;
      } else if (c == ' ' || c == '|') {
        List<String> last = commands.get(commands.size() - 1);
        if (!word.isEmpty() && !(last.isEmpty() && word.toString().matches("[A-Z_]+=.*"))) {
          last.add(word.toString());
        }
        word.setLength(0);
        if (c == '|') {
          commands.add(new ArrayList<>());
        }
      } else {
        word.append(c);
      }
    }
    return commands;
  }

  @Test
  void helpNamesTheExitCodesAndHowAnInstanceIsReached() {
    for (CommandLine command : berth().getSubcommands().values()) {
      String help = command.getUsageMessage(Ansi.OFF);
      assertThat(help)
          .contains("Usage: berth " + command.getCommandName(), "Exit codes:", "  2   wrong usage");
      if (command.getCommandSpec().findOption("--address") != null) {
        assertThat(help).contains("  3   no admin server answers", "--token-file=FILE", "--json");
      }
      assertThat(help.lines()).allSatisfy(line -> assertThat(line).hasSizeLessThanOrEqualTo(80));
    }
  }

  @Test
  void helpOfBerthListsEveryExitCode() {
    CommandLine berth = berth();
    Set<String> listed = berth.getCommandSpec().usageMessage().exitCodeList().keySet();
    for (CommandLine command : berth.getSubcommands().values()) {
      assertThat(listed)
          .as(command.getCommandName())
          .containsAll(command.getCommandSpec().usageMessage().exitCodeList().keySet());
    }
    assertThat(examples())
        .anyMatch(each -> each.startsWith("berth run ") && each.contains("--adopt"));
  }

  // --- completion ---

  @Test
  void aShellCompletesCommandsAndOptionsByTheScript() throws Exception {
    List<String> script = List.of("completion", "bash");
    StringWriter out = new StringWriter();
    assertThat(berth().setOut(new PrintWriter(out)).execute(script.toArray(String[]::new)))
        .isZero();
    assertThat(completed(out + "", "berth", "roll")).containsExactly("rollback");
    assertThat(completed(out + "", "berth", "rollback", "--d")).containsExactly("--dry-run");
    assertThat(completed(out + "", "berth", "deploy", "--pr")).containsExactly("--prune");
    assertThat(completed(out + "", "berth", "completion", "z")).containsExactly("zsh");
    assertThat(berth().execute("completion", "fish")).isEqualTo(2);
  }

  private static List<String> completed(String script, String... words) throws Exception {
    String all =
        script
            + "\nCOMP_WORDS=("
            + String.join(" ", words)
            + ")\nCOMP_CWORD="
            + (words.length - 1)
            + "\n_complete_berth\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
    Process bash = new ProcessBuilder("bash").redirectError(Redirect.DISCARD).start();
    try (var in = bash.getOutputStream()) {
      in.write(all.getBytes(StandardCharsets.UTF_8));
    }
    return new String(bash.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
        .lines()
        .map(String::strip)
        .toList();
  }
}
