package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The fast checks of {@code deploy/check.sh}: files that an operator installs. */
class DeployFilesIT {
  @Test
  void fastChecksOfTheDeployFilesPass() throws IOException, InterruptedException {
    ProcessBuilder check = new ProcessBuilder("bash", "deploy/check.sh", "--fast");
    check
        .environment()
        .put("BERTH_JAR", Path.of(System.getProperty("berth.jar")).toAbsolutePath().toString());
    Process run = check.redirectErrorStream(true).start();
    String lines = new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(run.waitFor()).as(lines).isZero();
    assertThat(lines).startsWith("ok ").doesNotContain("not checked ");
  }
}
