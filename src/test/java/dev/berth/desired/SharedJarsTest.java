package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.code.ContentAddressedJars;
import dev.berth.code.Jar;
import dev.berth.code.JarRepository;
import dev.berth.fakes.QueueExecutor;
import io.vertx.core.Future;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SharedJarsTest {
  @TempDir Path folder;

  private final QueueExecutor loop = new QueueExecutor();
  private final Set<Path> running = new HashSet<>();
  private long nowMs = 1_000_000_000;

  private JarProvider jars() {
    return JarProvider.fetched(folder, loop, loop, () -> running, () -> nowMs);
  }

  private <T> T done(Future<T> asked) {
    loop.runAll();
    assertThat(asked.cause()).isNull();
    assertThat(asked.isComplete()).isTrue();
    return asked.result();
  }

  private String digest(String content) throws IOException {
    return String.valueOf(
        new ContentAddressedJars().add(Files.writeString(folder.resolve("x"), content)));
  }

  private Path fetched(JarProvider jars, String content) throws IOException {
    String digest = digest(content);
    Path written = Files.writeString(done(jars.begin(content.length())), content);
    done(jars.take(written, "a.jar", digest));
    return done(jars.find(digest));
  }

  @Test
  void aJarStaysWhileCodeMayBeLoadedFromItAndForAnHourAfterItWasAskedFor() throws Exception {
    JarProvider jars = jars();
    Path used = fetched(jars, "used");
    Path asked = fetched(jars, "asked");
    Path other = fetched(jars, "other");
    running.add(used);
    nowMs += JarRepository.RETENTION.toMillis();
    assertThat(done(jars.find(digest("asked")))).isEqualTo(asked).hasContent("asked");

    jars.removeUnused();
    loop.runAll();

    assertThat(used).exists();
    assertThat(asked).exists();
    assertThat(other).doesNotExist();
    assertThat(done(jars.find(digest("other")))).isNull();
  }

  @Test
  void whatAnEarlierProcessLeftIsReadBeforeItIsUsed() throws Exception {
    Path whole = fetched(jars(), "whole");
    Path half = whole.resolveSibling(new Jar("a.jar", digest("half")).copyName());
    Files.writeString(half, "ha");
    Path broken = done(jars().begin(1));

    JarProvider jars = jars();

    assertThat(done(jars.find(digest("whole")))).isEqualTo(whole);
    assertThat(done(jars.find(digest("half")))).isNull();
    assertThat(fetched(jars, "half")).isEqualTo(half).hasContent("half");
    jars.removeUnused();
    loop.runAll();
    assertThat(broken).doesNotExist();
    assertThat(whole).exists();
  }
}
