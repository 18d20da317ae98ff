package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The jar on state directories of earlier versions, as {@code src/it/record-state.sh} records them:
 * an instance and a control node. A release promises to read the state of the one before it.
 */
class ReleasedStateIT {
  private static final Path STATES = Path.of("src/test/resources/released-states");

  @TempDir Path folder;

  private static List<Path> recorded() throws IOException {
    try (Stream<Path> files = Files.walk(STATES, 2)) {
      return files.filter(each -> STATES.relativize(each).getNameCount() == 2).sorted().toList();
    }
  }

  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> files = Files.walk(from)) {
      for (Path each : files.toList()) {
        Files.copy(each, to.resolve(from.relativize(each).toString()));
      }
    }
  }

  private Path config(Path state, boolean control) throws IOException {
    String cluster =
        """
          cluster:
            name: recorded
            node: n1
            role: control
            control: ["n1@127.0.0.1:%1$d"]
            bind: 127.0.0.1
            insecure: true
            ports: {control: %1$d, data: 0, consensus: %2$d, https: 0}
        """
            .formatted(freePort(), freePort());
    return Files.writeString(
        folder.resolve("berth.yaml"),
        """
        berth:
          state_dir: %s
        %s"""
            .formatted(state, control ? cluster : ""));
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }

  @Test
  void atLeastTheVersionBeforeIsRecordedForAnInstanceAndForAControlNode() throws IOException {
    assertThat(recorded())
        .extracting(each -> each.getFileName().toString())
        .contains("instance", "control");
  }

  @ParameterizedTest
  @MethodSource("recorded")
  void recordedStateRunsAgain(Path state) throws Exception {
    Path copied = folder.resolve("state");
    copy(state, copied);
    Path config = config(copied, state.endsWith("control"));
    try (Server server = Server.start(config)) {
      String serve = server.admin("/api/v1/serve");
      assertThat(serve)
          .contains("\"files\"", "\"broken\"", "missing.Type:build")
          .doesNotContain("\"deleted\"");
      assertThat(server.admin("/api/v1/applications/files/history"))
          .contains("\"revision\":3", "\"revision\":1");
      assertThat(server.output()).noneMatch(line -> line.contains("corrupt"));
    }
  }
}
