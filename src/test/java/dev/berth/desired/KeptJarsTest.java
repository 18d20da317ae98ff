package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.code.CompiledJar;
import dev.berth.code.Jar;
import dev.berth.code.JarRepository;
import dev.berth.config.ConfigReader;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KeptJarsTest {
  private static final int BYTES = 10; // of a jar

  @TempDir Path folder;

  private JournalLog closed() {
    return new JournalLog(
        ServeConfig.DEFAULTS.with(InstanceOptions.STATE_DIR, folder.resolve("state")));
  }

  private JournalLog open() {
    JournalLog log = closed();
    log.open();
    return log;
  }

  /** Another build of an application runs. */
  private void runs(JournalLog log, DeclaredJarStore jars, String name, int build)
      throws IOException {
    jars.begin(Set.of());
    log.prepare();
    jars.prepare();
    Path file = Files.writeString(folder.resolve(name), "%010d".formatted(build));
    List<Jar> kept = jars.keep(List.of(file));
    ApplicationSpec wanted = new ApplicationSpec("/" + name, "{}", kept, false, name + build);
    assertThat(log.propose(Objects.requireNonNull(log.state().deploy(name, wanted, null, 1))))
        .isNotNull();
    long revision = Objects.requireNonNull(log.state().find(name)).revision();
    log.propose(
        Objects.requireNonNull(
            log.state().mark(List.of(DesiredRig.announce(name, revision, null)))));
  }

  private List<Long> earlier(JournalLog log, String name) {
    DesiredApplication known = Objects.requireNonNull(log.state().find(name));
    return log.state().history.earlier(known).stream().map(each -> each.revision()).toList();
  }

  private long copies() {
    return Objects.requireNonNull(
            folder.resolve("state/jars").toFile().list((in, name) -> name.endsWith(".jar")))
        .length;
  }

  @Test
  void theOldestRevisionsGiveWayBeforeAJarIsRefused() throws IOException {
    JournalLog log = open();
    DeclaredJarStore jars = new DeclaredJarStore(log, () -> Long.MAX_VALUE, 6 * BYTES);
    for (int build = 1; build <= 3; build++) {
      runs(log, jars, "a.jar", build);
      runs(log, jars, "b.jar", 10 + build);
    }
    assertThat(copies()).isEqualTo(6);
    assertThat(earlier(log, "a.jar")).containsExactly(3L, 1L);

    runs(log, jars, "a.jar", 4);
    assertThat(copies()).as("no more than it takes").isEqualTo(6);
    assertThat(earlier(log, "a.jar")).containsExactly(5L, 3L);
    assertThat(earlier(log, "b.jar")).containsExactly(4L, 2L);
    log.close();

    JournalLog again = open();
    assertThat(earlier(again, "a.jar")).as("it is written down").containsExactly(5L, 3L);
    DeclaredJarStore kept = new DeclaredJarStore(again, () -> Long.MAX_VALUE, 6 * BYTES);
    kept.begin(Set.of());
    again.state().applications().stream()
        .flatMap(each -> again.state().history.earlier(each).stream())
        .forEach(before -> assertThat(kept.path(before.wanted().jars().get(0))).exists());
    again.close();
  }

  @Test
  void whatIsWantedAndWhatRanLastGiveNoWay() throws IOException {
    JournalLog log = open();
    DeclaredJarStore jars = new DeclaredJarStore(log, () -> Long.MAX_VALUE, 3 * BYTES);
    runs(log, jars, "a.jar", 1);
    runs(log, jars, "a.jar", 2);
    runs(log, jars, "b.jar", 11);

    assertThatThrownBy(() -> runs(log, jars, "b.jar", 12)).isInstanceOf(IOException.class);
    assertThat(earlier(log, "a.jar")).containsExactly(1L);
    log.close();
  }

  @Test
  void nothingGivesWayWhereItIsNotKnownWhatIsInUse() throws IOException {
    JournalLog log = open();
    DeclaredJarStore jars = new DeclaredJarStore(log, () -> Long.MAX_VALUE, 3 * BYTES);
    for (int build = 1; build <= 3; build++) {
      runs(log, jars, "a.jar", build);
    }
    jars.begin(null);
    Path file = Files.writeString(folder.resolve("b.jar"), "%010d".formatted(4));

    assertThatThrownBy(() -> jars.keep(List.of(file))).isInstanceOf(IOException.class);
    assertThat(earlier(log, "a.jar")).containsExactly(2L, 1L);
    log.close();
  }

  @Test
  void theyGiveWayToAJarOfAStartsFileToo() throws IOException {
    Path built = CompiledJar.holding(folder.resolve("built.jar"), "4");
    long most = Files.size(built) + 2 * BYTES;
    JournalLog log = open();
    DeclaredJarStore jars = new DeclaredJarStore(log, () -> Long.MAX_VALUE, most);
    for (int build = 1; build <= 3; build++) {
      runs(log, jars, "a.jar", build);
    }
    log.close();
    Files.move(built, folder.resolve("a.jar"), StandardCopyOption.REPLACE_EXISTING);
    Path says = folder.resolve("shop.yaml");
    Files.writeString(
        says,
        "applications: [{name: a.jar, import_path: 'x.A:build', runtime_env: {jars: [a.jar]}}]");
    ServeConfig file = ConfigReader.readToStart(says, List.of());

    JournalLog again = closed();
    DeclaredJarStore kept = new DeclaredJarStore(again, () -> Long.MAX_VALUE, most);
    new InitialState(again, new EntryReader(kept, file), () -> 1).begin(List::of);

    assertThat(Objects.requireNonNull(again.state().find("a.jar")).revision())
        .as("the file's")
        .isEqualTo(4);
    assertThat(earlier(again, "a.jar")).as("without the first").containsExactly(3L, 2L);
    again.close();
  }

  @Test
  void jarThatCanNeverFitLetsGoOfNothing() throws IOException {
    JournalLog log = open();
    DeclaredJarStore jars = new DeclaredJarStore(log, () -> Long.MAX_VALUE, 5 * BYTES);
    for (int build = 1; build <= 4; build++) {
      runs(log, jars, "a.jar", build);
    }
    jars.begin(Set.of());
    assertThatThrownBy(() -> jars.begin(3 * BYTES + 1))
        .hasMessage("jars: 51 bytes with one more (expected: at most 50)");
    Path huge = Files.writeString(folder.resolve("huge.jar"), "x".repeat(3 * BYTES + 1));
    assertThatThrownBy(() -> jars.keep(List.of(huge))).hasMessageContaining("jars: 51 bytes");
    assertThat(earlier(log, "a.jar")).containsExactly(3L, 2L, 1L);

    JarRepository disk = new JarRepository(() -> 1, () -> 1, Long.MAX_VALUE);
    disk.keepIn(folder);
    long more = folder.toFile().getUsableSpace() * 2;
    assertThatThrownBy(() -> disk.begin(more)).hasMessageEndingWith(", free on disk)");
    log.close();
  }

  @Test
  void historyGivesWayWhenAJarHasComeAndNoFurtherThanItTakes() throws IOException {
    JournalLog log = open();
    DeclaredJarStore jars = new DeclaredJarStore(log, () -> Long.MAX_VALUE, 5 * BYTES);
    for (int build = 1; build <= 5; build++) {
      runs(log, jars, "a.jar", build);
    }
    jars.begin(Set.of());
    Path written = jars.begin(2 * BYTES);
    assertThat(earlier(log, "a.jar")).as("nothing has come").containsExactly(4L, 3L, 2L, 1L);

    Files.writeString(written, "x".repeat(2 * BYTES));
    jars.begin(Set.of());
    jars.take(written, new Jar("b.jar", "0".repeat(64)));
    assertThat(earlier(log, "a.jar")).containsExactly(4L, 3L);
    log.close();
  }
}
