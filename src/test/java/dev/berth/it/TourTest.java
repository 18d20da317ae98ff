package dev.berth.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The reader of documented commands, so that a document cannot pass unread. */
class TourTest {
  @TempDir Path folder;

  @Test
  void aCommandAndTheAnswerBelowItAreAStep() throws IOException {
    List<Tour.Step> steps =
        Tour.of(
            document(
                "# Tour",
                "```sh",
                "java -jar target/berth.jar run conf/a.yaml",
                "```",
                "## Echo",
                "```java",
                "curl is not run here",
                "```",
                "```sh",
                "curl -s localhost:8000/echo -d 'a b'",
                "```",
                "```",
                "a b",
                "```"));

    assertThat(steps).hasSize(1);
    assertThat(steps.get(0).heading()).isEqualTo("Echo");
    assertThat(steps.get(0).config()).isEqualTo("conf/a.yaml");
    assertThat(steps.get(0).line()).isEqualTo(10);
    assertThat(steps.get(0).mismatch("a b")).isEmpty();
    assertThat(steps.get(0).mismatch("a c")).isNotEmpty();
    assertThat(steps.get(0).mismatch("")).isNotEmpty();
    assertThat(steps.get(0).mismatch("a b\nmore")).isNotEmpty();
  }

  @Test
  void anEllipsisStandsForAnythingInALineOrForLines() throws IOException {
    Tour.Step step = step("{\"id\":\"…\",\"n\":1}", "…", "end");

    assertThat(step.mismatch("{\"id\":\"x7\",\"n\":1}\nend")).isEmpty();
    assertThat(step.mismatch("{\"id\":\"\",\"n\":1}\na\nb\nend\n")).isEmpty();
    assertThat(step.mismatch("{\"id\":\"x7\",\"n\":2}\nend")).isNotEmpty();
    assertThat(step.mismatch("{\"id\":\"x7\",\"n\":1}")).isNotEmpty();
  }

  @Test
  void headersMayComeInAnyOrderAmongOthers() throws IOException {
    Tour.Step step = step("HTTP/1.1 503 Service Unavailable", "Retry-After: …", "", "full");

    assertThat(
            step.mismatch("HTTP/1.1 503 Service Unavailable\r\nx: y\r\nretry-after: 1\r\n\r\nfull"))
        .isEmpty();
    assertThat(step.mismatch("HTTP/1.1 200 OK\nretry-after: 1\n\nfull")).isNotEmpty();
    assertThat(step.mismatch("HTTP/1.1 503 Service Unavailable\n\nfull")).isNotEmpty();
    assertThat(step.mismatch("HTTP/1.1 503 Service Unavailable\nretry-after: 1\n\nempty"))
        .isNotEmpty();
  }

  @Test
  void aCommandWithoutAnAnswerIsAMistakeOfTheDocument() throws IOException {
    Path document = document("```sh", "curl localhost", "```", "Then:", "```", "x", "```");

    assertThatThrownBy(() -> Tour.of(document)).hasMessageContaining("its answer");
  }

  @Test
  void wordsAreSplitAsAShellDoes() {
    assertThat(Curl.words("curl -H 'a: b c' \"x y\"z  # why"))
        .containsExactly("curl", "-H", "a: b c", "x yz");
  }

  private Tour.Step step(String... answer) {
    return new Tour.Step("", "", 1, "curl localhost", List.of(answer));
  }

  private Path document(String... lines) throws IOException {
    return Files.write(folder.resolve("tour.md"), List.of(lines));
  }
}
