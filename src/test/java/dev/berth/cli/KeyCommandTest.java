package dev.berth.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.dialect.ApiKeys;
import io.vertx.core.Future;
import io.vertx.core.json.JsonObject;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KeyCommandTest {
  private final StringWriter printed = new StringWriter();

  @TempDir Path folder;

  private int key(String... words) {
    return Main.commandLine(
            (config, stop) -> Future.failedFuture("not started here"),
            CliEnvironment.ofProcess(() -> CompletableFuture.completedFuture("none")))
        .setErr(new PrintWriter(printed))
        .setOut(new PrintWriter(printed))
        .execute(Stream.concat(Stream.of("key", "new"), Stream.of(words)).toArray(String[]::new));
  }

  @Test
  void printedLineAdmitsThePrintedKey() throws Exception {
    assertThat(key("alice", "--models", "smol,org/big", "--json")).isZero();
    JsonObject made = new JsonObject(printed.toString());
    assertThat(made.getString("key")).matches("sk-berth-[A-Za-z0-9_-]{22}");
    Path file = Files.writeString(folder.resolve("keys"), made.getString("line") + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));

    ApiKeys.ApiKey found = ApiKeys.read(folder, "keys").lookup(made.getString("key"));
    assertThat(Objects.requireNonNull(found).id()).isEqualTo("alice");
    assertThat(found.models()).isEqualTo(Set.of("smol", "org/big"));
  }

  @Test
  void eachKeyIsAnother() {
    assertThat(key("alice")).isZero();
    String first = printed.toString();
    assertThat(first).containsPattern("(?m)^  alice [0-9a-f]{64} \\*$");
    printed.getBuffer().setLength(0);
    assertThat(key("alice")).isZero();
    assertThat(printed.toString()).isNotEqualTo(first);
  }

  @ParameterizedTest
  @CsvSource({
    "a b, *, ID: a b (expected: 1 to 64 letters",
    "a, 'x,*', '--models: x,* (expected: names of models, or *)'",
    "a, x;y, --models: x;y (expected"
  })
  void invalidWordsAreWrongUsage(String id, String models, String problem) {
    assertThat(key(id, "--models", models)).isEqualTo(2);
    assertThat(printed.toString()).contains(problem).doesNotContain("sk-berth");
  }
}
