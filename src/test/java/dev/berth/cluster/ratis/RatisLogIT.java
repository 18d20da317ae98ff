package dev.berth.cluster.ratis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.berth.code.StartFailedException;
import dev.berth.config.InstanceOptions;
import dev.berth.config.ServeConfig;
import dev.berth.desired.ConsensusEngine;
import dev.berth.desired.ConsensusEngine.ConsensusOptions;
import dev.berth.desired.DesiredState;
import dev.berth.desired.JournalLog;
import dev.berth.desired.NodeRegistry;
import dev.berth.desired.StateLog;
import dev.berth.desired.StateLogContract;
import dev.berth.desired.StateStoreRecords;
import io.vertx.core.Vertx;
import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class RatisLogIT extends StateLogContract {
  private long room = Long.MAX_VALUE;

  static int freePort() {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    } catch (IOException none) {
      throw new AssertionError(none);
    }
  }

  private Path state() {
    return folder.resolve("state");
  }

  private static ConsensusOptions options(Path directory) {
    return new ConsensusOptions(directory, "prod", "n1", "127.0.0.1", freePort(), null, "f00d");
  }

  private RatisLog make(ConsensusOptions options) {
    return new RatisLog(options, held -> room);
  }

  @Override
  protected StateLog make() {
    return make(options(state()));
  }

  private JournalLog journal(Path directory) throws IOException {
    JournalLog journal =
        new JournalLog(ServeConfig.DEFAULTS.with(InstanceOptions.STATE_DIR, directory));
    journal.open();
    journal.prepare();
    return journal;
  }

  private DesiredState keptInAJournal() throws IOException {
    JournalLog journal = journal(state());
    journal.propose(deploy(journal.state(), "a", "1"));
    journal.propose(deploy(journal.state(), "a", "2"));
    journal.propose(deploy(journal.state(), "b", "x".repeat(2_000_000)));
    journal.close();
    return journal.state();
  }

  @Test
  void noThreadLooksForPauses() throws IOException {
    StateLog log = make();
    log.open();
    log.prepare();
    assertThat(Thread.getAllStackTraces().keySet())
        .extracting(Thread::getName)
        .noneMatch(name -> name.startsWith("JvmPauseMonitor"));
    log.close();
  }

  /** What a kill would leave. */
  private static void copy(Path from, Path to) throws IOException {
    try (Stream<Path> all = Files.walk(from)) {
      for (Path each : (Iterable<Path>) all::iterator) {
        Files.copy(each, to.resolve(from.relativize(each).toString()));
      }
    }
  }

  private Path files(String what) throws IOException {
    try (Stream<Path> all = Files.walk(state().resolve("log"))) {
      return all.filter(each -> each.getFileName().toString().matches(what))
          .max(java.util.Comparator.comparing(Path::toString))
          .orElseThrow();
    }
  }

  private static void flip(Path file, int at) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    bytes[at] ^= 4;
    Files.write(file, bytes);
  }

  private Set<String> names() throws IOException {
    try (Stream<Path> all = Files.list(state())) {
      return all.map(each -> each.getFileName().toString()).collect(Collectors.toSet());
    }
  }

  private void refused(RatisLog other, String... words) {
    assertThatThrownBy(other::open)
        .isInstanceOf(StartFailedException.class)
        .hasMessageContainingAll(words)
        .message()
        .hasLineCount(1);
  }

  // --- begin ---

  @Test
  void aClusterIsBornWithTheFirstEntry() throws IOException {
    log = ConsensusEngine.find().log(options(state()));
    log.open();
    assertThat(log.state().nodes()).isEqualTo(NodeRegistry.born("f00d", ""));
    assertThat(log.state().index()).isEqualTo(1);
    assertThat(log.directory()).isEqualTo(state());
    log.close();

    log = make(new ConsensusOptions(state(), "prod", "n1", "127.0.0.1", freePort(), null, "beef"));
    log.open();
    assertThat(log.state().nodes().cluster()).isEqualTo("f00d");
    refused((RatisLog) make(), "is in use by another instance");
    log.close();
    refused(
        make(new ConsensusOptions(state(), "test", "n1", "127.0.0.1", freePort(), null, "beef")),
        "berth.cluster.name: test",
        "is the log of another");
  }

  @Test
  void aJournalIsProposedWholeAndSetAside() throws IOException {
    DesiredState kept = keptInAJournal();
    assertThat(names()).contains("state-00000001");
    open();
    assertThat(log.state().index()).isEqualTo(kept.index() + 1);
    assertThat(log.state().nodes().cluster()).isEqualTo("f00d");
    assertThat(said(log.state(), "b")).isEqualTo(said(kept, "b"));
    assertThat(said(log.state(), "a")).isEqualTo("2");
    assertThat(names()).contains("state-00000001.before-cluster").doesNotContain("state-00000001");
    assertThatThrownBy(() -> journal(state())).hasMessageContaining("is the log of a cluster");
  }

  @Test
  void aCrashBeforeTheFirstEntryTakesTheJournalAndOneAfterItSetsItAside() throws IOException {
    DesiredState kept = keptInAJournal();
    Path before = folder.resolve("before");
    copy(state(), before);
    open();
    deployed("c", "1");
    long index = log.state().index();
    log.close();
    Files.move(state().resolve("state-00000001.before-cluster"), state().resolve("state-00000001"));
    open();
    assertThat(log.state().index()).isEqualTo(index);
    assertThat(names()).doesNotContain("state-00000001");
    log.close();

    Files.createDirectories(before.resolve("log/" + RatisServer.group("prod")));
    log = make(options(before));
    log.open();
    assertThat(log.state().index()).isEqualTo(kept.index() + 1);
  }

  @Test
  void aJournalBesideALogThatBeganWithoutItIsRefused() throws IOException {
    open();
    log.close();
    Path other = folder.resolve("other");
    JournalLog journal = journal(other);
    journal.propose(deploy(journal.state(), "a", "1"));
    journal.close();
    Files.copy(other.resolve("state-00000001"), state().resolve("state-00000001"));
    refused((RatisLog) make(), "has a journal, and cluster prod began without it");
    assertThat(names()).contains("state-00000001");
  }

  // --- what fails ---

  @Test
  void anEventLoopIsRefused() {
    Vertx vertx = Vertx.vertx();
    CompletableFuture<Throwable> thrown = new CompletableFuture<>();
    vertx.runOnContext(
        loop -> {
          try {
            make().open();
            thrown.complete(new AssertionError());
          } catch (IllegalStateException refused) {
            thrown.complete(refused);
          }
        });
    assertThat(thrown.join()).hasMessageContaining("a thread that may block");
    vertx.close().toCompletionStage().toCompletableFuture().join();
  }

  @Test
  void aKillLosesNothingThatWasAcknowledged() throws IOException {
    open();
    deployed("a", "1");
    deployed("b", "x".repeat(1_500_000));
    deployed("a", "2");
    Path killed = folder.resolve("killed");
    copy(state(), killed);
    DesiredState before = log.state();
    log.close();
    log = make(options(killed));
    log.open();
    assertThat(whole(log.state())).isEqualTo(whole(before));
    deployed("c", "1");
  }

  @Test
  void aLogThatCannotBeWrittenIsBuiltAnewWithAllThatWasAcknowledged() throws IOException {
    open();
    deployed("a", "1");
    Path current = files("current");
    Path away = current.resolveSibling("away");
    Files.move(current, away);
    String large = "y".repeat(900_000);
    assertThatThrownBy(
            () -> {
              for (int i = 0; i < 5; i++) { // until a segment is full
                deployed("b", large + i);
              }
            })
        .isInstanceOf(IOException.class);
    assertThatThrownBy(() -> deployed("c", "1")).isInstanceOf(IOException.class);
    assertThat(log.note("nothing", term(log.state()))).isNull();
    DesiredState before = log.state();
    room = RatisLog.MIN_FREE_BYTES_FOR_NOTES - 1;
    Throwable refused;
    do { // a server has refused a while before it is known to be broken
      refused = catchThrowable(log::prepare);
    } while (refused == null);
    assertThat(refused).hasMessageContaining("bytes are free");
    room = Long.MAX_VALUE;
    Files.move(away, current);

    log.prepare();
    assertThat(log.state().index()).isGreaterThanOrEqualTo(before.index());
    deployed("c", "1");
    reopen();
    assertThat(said(log.state(), "c")).isEqualTo("1");
    assertThat(said(log.state(), "a")).isEqualTo("1");
  }

  @Test
  void historyGivesWayBeforeTheLogDoes() throws IOException {
    open();
    deployed("a", "1");
    room = RatisLog.MIN_FREE_BYTES - 1;
    assertThat(log.isFull()).isTrue();
    assertThatThrownBy(() -> deployed("a", "2")).hasMessageContaining("bytes are free");
    assertThat(log.note("what was let go of", term(log.state()))).isNotNull();
    room = RatisLog.MIN_FREE_BYTES_FOR_NOTES - 1;
    assertThat(log.note("what was let go of", term(log.state()))).isNull();
    room = RatisLog.MIN_FREE_BYTES;
    assertThat(log.isFull()).isFalse();
    deployed("a", "2");
    log.close();
    room = RatisLog.MIN_FREE_BYTES_FOR_NOTES - 1;
    refused((RatisLog) make(), "berth.state_dir: ", "bytes are free");
  }

  @Test
  void aDamagedSnapshotIsPutAsideAndALogThatDoesNotReachBackIsRefused() throws IOException {
    open();
    for (int i = 0; i < 2_100; i++) {
      assertThat(log.note("the term", term(log.state()))).isNotNull();
    }
    deployed("a", "1");
    DesiredState before = log.state();
    log.close();
    Path newest = files("snapshot\\.\\d+_\\d+");
    flip(newest, 60);

    open();
    assertThat(whole(log.state())).isEqualTo(whole(before));
    assertThat(newest.resolveSibling("corrupt-" + newest.getFileName())).exists();
    log.close();

    flip(files("snapshot\\.\\d+_\\d+"), 60);
    Files.delete(files("log_0-\\d+"));
    refused((RatisLog) make(), "are missing, since snapshots are damaged");
  }

  @Test
  void logThatLostItsLastEntriesIsRefusedAtEachStart() throws IOException {
    open();
    for (int i = 0; i < 5; i++) {
      deployed("a", "r" + i);
    }
    log.close();
    Path newest = files("log_inprogress_.*");
    Path kept = folder.resolve("kept");
    Files.copy(newest, kept);
    for (int start = 0; start < 3; start++) {
      Files.write(newest, new byte[0]);
      refused((RatisLog) make(), "entries 0 to ", " of the log are missing", "newest backup");
    }
    Files.copy(kept, newest, StandardCopyOption.REPLACE_EXISTING);
    open();
    assertThat(log.state().find("a")).isNotNull();
  }

  @Test
  void logWithoutItsLastEntryAloneIsRefused() throws IOException {
    open();
    deployed("a", "r");
    log.close();
    Path group = files("log_inprogress_.*").getParent().getParent();
    long index = StateStoreRecords.number(Files.readAllBytes(group.resolve("applied")));
    Throwable refused = null;
    for (int more = 0; refused == null && more < 10; more++) {
      LogFiles.mark(group, ++index);
      refused = catchThrowable(() -> LogFiles.check(group));
    }
    assertThat(refused).hasMessageContaining("entries %d to %d of the log", index, index);
  }

  @Test
  void logOfAnEarlierVersionIsMarkedBeforeItIsOpened() throws IOException {
    open();
    deployed("a", "1");
    log.close();
    Path marker = files("applied");
    long applied = StateStoreRecords.number(Files.readAllBytes(marker));
    assertThat(applied).isPositive();
    for (byte[] earlier : new byte[][] {null, {}, StateStoreRecords.number(applied - 1)}) {
      Files.delete(marker);
      if (earlier != null) {
        Files.write(marker, earlier);
      }
      LogFiles.check(marker.getParent());
      assertThat(LogFiles.readMarker(marker.getParent())).isEqualTo(applied);
    }
    Files.write(files("log_inprogress_.*"), new byte[0]);
    refused((RatisLog) make(), "entries 0 to " + applied + " of the log are missing");
  }

  @Test
  void markerIsNeverLowered() throws IOException {
    open();
    deployed("a", "1");
    log.close();
    Path group = files("applied").getParent();
    long applied = LogFiles.readMarker(group);
    open(); // applies all entries again
    assertThat(LogFiles.readMarker(group)).isEqualTo(applied);
    deployed("a", "2");
    assertThat(LogFiles.readMarker(group)).isGreaterThan(applied);
  }

  @Test
  void aDamagedLogIsNotTakenForAShortOne() throws IOException, InterruptedException {
    open();
    for (int i = 0; i < 20; i++) {
      deployed("a", "r" + i);
    }
    log.close();
    Set<Thread> threads = Thread.getAllStackTraces().keySet();
    flip(files("log_.*"), 3_000);
    refused((RatisLog) make(), "log_inprogress_0: is damaged behind entry ", "newest backup");
    for (Thread each : Thread.getAllStackTraces().keySet()) {
      if (!threads.contains(each) && !each.isDaemon()) {
        each.join(10_000);
        assertThat(each.isAlive()).as("%s holds the process", each).isFalse();
      }
    }
  }

  @Test
  void partOfAnEntryThatWasNeverAcknowledgedIsCutOff() throws IOException {
    open();
    deployed("a", "r");
    log.close();
    Path newest = files("log_inprogress_.*");
    byte[] whole = Files.readAllBytes(newest);
    int end = whole.length;
    while (whole[end - 1] == 0) {
      end--;
    }
    byte[] torn = Arrays.copyOf(whole, Math.max(whole.length, end + 10_000));
    byte[] part = new byte[4_000];
    new Random(28).nextBytes(part);
    System.arraycopy(part, 0, torn, end + 2, part.length);
    torn[end] = (byte) 0xc0; // 8 000 bytes would follow
    torn[end + 1] = 0x3e;
    Files.write(newest, torn);
    open();
    assertThat(log.state().find("a")).isNotNull();
    deployed("a", "next");
    log.close();
    open();
    assertThat(log.state().find("a")).isNotNull();
    assertThat(files("log_inprogress_.*corrupt-.*")).hasBinaryContent(torn);
  }

  /** Each start begins a file, with an entry that nobody waits for. */
  @Test
  void partOfTheFirstEntryOfANewFileIsCutOff() throws IOException {
    open();
    deployed("a", "r");
    log.close();
    open();
    log.close();
    Path newest = files("log_inprogress_.*");
    byte[] torn = Arrays.copyOf(Files.readAllBytes(newest), 64 << 10); // as it is made
    assertThat(newest).asString().doesNotEndWith("_0");
    Arrays.fill(torn, 8, torn.length, (byte) 0);
    torn[8] = (byte) 0xc0; // 8 000 bytes would follow
    torn[9] = 0x3e;
    Arrays.fill(torn, 10, 20, (byte) 7);
    Files.write(newest, torn);
    open();
    assertThat(log.state().find("a")).isNotNull();
    deployed("a", "next");
    log.close();
    open();
    assertThat(log.state().find("a")).isNotNull();
  }

  @Test
  void logThatIsDamagedWhenItIsBuiltAnewIsRefused() throws IOException {
    open();
    deployed("a", "1");
    deployed("a", "2");
    Path current = files("current");
    Path away = current.resolveSibling("away");
    Files.move(current, away);
    String large = "y".repeat(900_000);
    assertThatThrownBy(
            () -> {
              for (int i = 0; i < 5; i++) { // until a segment is full
                deployed("b", large + i);
              }
            })
        .isInstanceOf(IOException.class);
    long acknowledged = log.state().index();
    Files.move(away, current);
    flip(files("log_inprogress_.*"), 1_000);
    Throwable refused = null;
    for (int i = 0; refused == null && log.state().index() >= acknowledged && i < 1_000_000; i++) {
      refused = catchThrowable(log::prepare);
    }
    assertThat(log.state().index()).isGreaterThanOrEqualTo(acknowledged);
    assertThat(refused).hasMessageContaining("is damaged behind entry ");
  }

  @Test
  void aPortThatIsTakenEndsNoProcess() throws IOException {
    Thread.UncaughtExceptionHandler handler = Thread.getDefaultUncaughtExceptionHandler();
    try (ServerSocket taken = new ServerSocket(0)) {
      refused(
          make(
              new ConsensusOptions(
                  state(), "prod", "n1", "127.0.0.1", taken.getLocalPort(), null, "f00d")),
          "berth.cluster.ports.consensus: 127.0.0.1:" + taken.getLocalPort());
    }
    assertThat(Thread.getDefaultUncaughtExceptionHandler()).isSameAs(handler);
  }
}
