package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** The fast checks of {@code deploy/check.sh}: files that an operator installs. */
class DeployFilesIT {
  /** Whether the tools of the checks are here: a build needs a JDK and Maven only. */
  private static boolean hasTools() throws InterruptedException {
    String versions =
        "((BASH_VERSINFO[0] >= 4)) && cmp --version && diff --version && sed --version";
    try {
      return new ProcessBuilder("bash", "-c", versions)
              .redirectErrorStream(true)
              .redirectOutput(Redirect.DISCARD)
              .start()
              .waitFor()
          == 0;
    } catch (IOException noBash) {
      return false;
    }
  }

  @Test
  void fastChecksOfTheDeployFilesPass() throws IOException, InterruptedException {
    assumeTrue(hasTools(), "not checked: bash 4 and GNU's cmp, diff and sed are not installed");
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
