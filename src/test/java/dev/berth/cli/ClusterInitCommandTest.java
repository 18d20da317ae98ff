package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.vertx.core.Future;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ClusterInitCommandTest {
  private final StringWriter said = new StringWriter();

  @TempDir Path folder;

  private int init(Path into, String... options) {
    String[] all = new String[options.length + 3];
    System.arraycopy(new String[] {"cluster", "init", into.toString()}, 0, all, 0, 3);
    System.arraycopy(options, 0, all, 3, options.length);
    return Main.commandLine(
            (config, stop) -> Future.failedFuture("not started here"),
            CliEnvironment.ofProcess(() -> CompletableFuture.completedFuture("none")))
        .setErr(new PrintWriter(said))
        .setOut(new PrintWriter(said))
        .execute(all);
  }

  @ParameterizedTest
  @CsvSource({
    "--nodes=0, --nodes: 0 (expected: 1 to 50)",
    "--nodes=51, --nodes: 51 (expected: 1 to 50)",
    "--name=Prod, '--name: Prod (expected: 1 to 63 of a-z, 0-9 and -)'",
    "--host=n4=h, --host: n4=h (expected: one of the nodes",
    "--host=n1=n2, a host that is not the name of another",
    "--host=n1=worker.trial, a host that is not the name of another",
    "'--host=n1=a''b', --host: n1=a'b (expected:"
  })
  void whatIsWrongIsSaidBeforeAnythingIsMade(String option, String expected) {
    Path into = folder.resolve("trial");
    assertThat(init(into, option)).isEqualTo(2);
    assertThat(said.toString()).contains(expected);
    assertThat(into).doesNotExist();
  }

  @Test
  void whatIsThereStaysAsItIs() throws Exception {
    Path file = Files.writeString(folder.resolve("notes"), "mine");
    assertThat(init(folder)).isEqualTo(1);
    assertThat(said.toString())
        .isEqualToIgnoringNewLines(
            "berth: " + folder + ": not empty (expected: an empty folder, or none)");
    assertThat(folder).isDirectoryContaining(file::equals);
    assertThat(folder.toFile().list()).hasSize(1);

    assertThat(init(file)).isEqualTo(1);
    assertThat(file).hasContent("mine");
  }

  @Test
  void clusterByItselfNamesItsCommands() {
    int code =
        Main.commandLine(
                (config, stop) -> Future.failedFuture("not started here"),
                CliEnvironment.ofProcess(() -> CompletableFuture.completedFuture("none")))
            .setErr(new PrintWriter(said))
            .execute("cluster");
    assertThat(code).isEqualTo(2);
    assertThat(said.toString()).contains("Missing command: one of init");
  }
}
