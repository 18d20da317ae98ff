package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.code.StartFailedException;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

class JournalLogTest extends StateLogContract {

  @Override
  protected StateLog make() {
    return new JournalLog(
        ServeConfig.DEFAULTS.with(InstanceOptions.STATE_DIR, folder.resolve("state")));
  }

  @Test
  void directoryThatCannotBeMadeIsFoundAtTheStart() throws IOException {
    Path file = Files.writeString(folder.resolve("file"), "");
    for (String below : List.of("state", "a/b/state")) {
      Path directory = file.resolve(below);
      assertThatThrownBy(
              () ->
                  new JournalLog(ServeConfig.DEFAULTS.with(InstanceOptions.STATE_DIR, directory))
                      .open())
          .isInstanceOf(StartFailedException.class)
          .hasMessageStartingWith(
              "berth.state_dir: %s cannot be created in %s: ".formatted(directory, file))
          .hasMessageEndingWith(" (expected: a writable directory, or --ephemeral)");
    }
    assertThat(folder.resolve("state")).doesNotExist();
  }
}
