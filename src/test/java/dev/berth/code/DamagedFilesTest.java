package dev.berth.code;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.spi.ILoggingEvent;
import dev.berth.fakes.LogLines;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DamagedFilesTest {
  @TempDir Path folder;

  @Test
  void latestAndTheNewestOthersStay() throws IOException {
    List<String> others = List.of("corrupt-snapshot-0123.jar", "a.jar", "applied");
    for (String each : others) {
      Files.createFile(folder.resolve(each));
    }
    Path latest = damaged("a.jar.corrupt-1", 0); // the time of its content
    damaged("log_inprogress_7.corrupt-9", 1);
    damaged("corrupt-snapshot.1_5", 2);
    damaged("log_inprogress_7.corrupt-8", 3);
    damaged("corrupt-snapshot.1_6", 4);

    try (LogLines log = new LogLines(DamagedFiles.class, Level.INFO)) {
      DamagedFiles.removeOld(latest);
      DamagedFiles.removeOld(latest);
      assertThat(log.all())
          .extracting(ILoggingEvent::toString)
          .containsExactly(
              "[INFO] state: old damaged files: removed all but the newest 3: [%s, %s]"
                  .formatted(
                      folder.resolve("corrupt-snapshot.1_5"),
                      folder.resolve("log_inprogress_7.corrupt-9")));
    }
    try (Stream<Path> files = Files.list(folder)) {
      assertThat(files.map(each -> each.getFileName().toString()))
          .hasSize(6)
          .containsAll(others)
          .contains("a.jar.corrupt-1", "log_inprogress_7.corrupt-8", "corrupt-snapshot.1_6");
    }
  }

  private Path damaged(String name, long seconds) throws IOException {
    Path file = Files.createFile(folder.resolve(name));
    return Files.setLastModifiedTime(file, FileTime.fromMillis(seconds * 1_000));
  }
}
