package dev.berth.cli.dev;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.cli.dev.BuildTool.BuildResult;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BuildToolTest {
  private @TempDir Path folder;

  private Path write(String name, String text) throws IOException {
    Path file = folder.resolve(name);
    Files.createDirectories(file.getParent());
    Files.writeString(file, text);
    assertThat(file.toFile().setExecutable(text.startsWith("#!"))).isTrue();
    return file;
  }

  private BuildTool tool(String at) {
    return requireNonNull(BuildTool.find(folder.resolve(at), folder));
  }

  @Test
  void nearestProjectAndItsWrapperAreFound() throws IOException {
    assertThat(BuildTool.find(folder, folder)).isNull();
    write("pom.xml", "");
    Path wrapper = write("mvnw", "#!/bin/sh\n");
    write("module/pom.xml", "");
    write("module/conf/berth.yaml", "");
    write("module/g/build.gradle.kts", "");

    BuildTool maven = tool("module/conf");
    assertThat(maven.folder()).isEqualTo(folder.resolve("module"));
    assertThat(maven.program()).isEqualTo(wrapper.toString());
    assertThat(maven.buildFiles())
        .contains(folder.resolve("module/pom.xml"), folder.resolve("pom.xml"));
    BuildTool gradle = tool("module/g");
    assertThat(gradle.maven()).isFalse();
    assertThat(gradle.program()).isEqualTo("gradle");
    assertThat(gradle.buildFiles()).contains(folder.resolve("module/g/build.gradle.kts"));
  }

  @Test
  void errorsAreTheLinesOfMavenOrTheLastLines() {
    List<String> maven =
        List.of(
            "[DEBUG] x",
            "[INFO] y",
            "[ERROR] A.java:[1,2] no",
            "[ERROR] ",
            "[ERROR] A.java:[1,2] no");
    assertThat(new BuildResult(false, maven).errors()).containsExactly("A.java:[1,2] no");
    assertThat(new BuildResult(false, List.of("[DEBUG] x", "failed")).errors())
        .containsExactly("failed");
  }

  @Test
  void runReturnsTheOutputAndTheSuccess() throws Exception {
    write("pom.xml", "");
    write("mvnw", "#!/bin/sh\necho \"$@\"; echo no >&2; exit 3\n");
    BuildResult result = tool("").run(true);
    assertThat(result.succeeded()).isFalse();
    assertThat(result.output()).containsExactly("-B -X -Dmaven.test.skip=true package", "no");
  }

  @Test
  void interruptEndsTheChildWithItsChildren() throws Exception {
    write("pom.xml", "");
    write("mvnw", "#!/bin/sh\nsleep 300 &\necho $! > \"$(dirname \"$0\")/child\"\nwait\n");
    CompletableFuture<Exception> end = new CompletableFuture<>();
    Thread builder =
        new Thread(
            () -> {
              try {
                tool("").run(true);
              } catch (IOException | InterruptedException stopped) {
                end.complete(stopped);
              }
            });
    builder.start();
    Path child = folder.resolve("child");
    while (!Files.exists(child) || Files.size(child) == 0) {
      Thread.onSpinWait();
    }
    builder.interrupt();
    assertThat(end.get()).isInstanceOf(InterruptedException.class);
    ProcessHandle.of(Long.parseLong(Files.readString(child).strip()))
        .ifPresent(process -> process.onExit().join());
  }
}
