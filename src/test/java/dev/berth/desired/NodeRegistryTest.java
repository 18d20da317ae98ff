package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.code.Jar;
import dev.berth.config.ConfigReader;
import dev.berth.desired.DesiredApplication.ApplicationSpec;
import dev.berth.desired.NodeRegistry.RegisteredProcess;
import dev.berth.view.CommandRejectedException;
import io.vertx.core.Future;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import org.junit.jupiter.api.Test;

class NodeRegistryTest extends ServeControlRig {

  private final NodeRegistry born = NodeRegistry.born("c1", "");

  @Test
  void aProcessKeepsItsRegistrationUntilThatIsLost() {
    NodeRegistry two = born.with("a", "f0").with("b", "f1");
    assertThat(two.nodes())
        .containsOnly(
            Map.entry("a", new RegisteredProcess("f0", 1)),
            Map.entry("b", new RegisteredProcess("f1", 2)));
    assertThat(two.with("a", "f0")).isSameAs(two);
    assertThat(two.with("a", "f2")).as("the name is another's").isSameAs(two);
    assertThat(two.without("a", 2)).as("it is another's").isSameAs(two);

    NodeRegistry lost = two.without("a", 1);
    assertThat(lost.find("a")).isNull();
    assertThat(lost.without("a", 1)).isSameAs(lost);
    assertThat(lost.with("a", "f0").find("a")).isEqualTo(new RegisteredProcess("f0", 3));
  }

  @Test
  void noRegistrationIsGivenTwice() {
    NodeRegistry gone = born.with("a", "f0").without("a", 1);
    assertThat(gone.with("b", "f1").find("b")).isEqualTo(new RegisteredProcess("f1", 2));
  }

  @Test
  void aGenerationIsAboveEveryOther() {
    assertThat(born.generation()).isEqualTo(1);
    assertThat(born.adopting("c1", List.of()).generation()).isEqualTo(2);
    FirstCaller caller = new FirstCaller("b", "f9", "c2", 7, 3, 12, List.of());
    assertThat(born.with("a", "f0").standingBy("older").adopting("c2", List.of(caller)))
        .isEqualTo(
            new NodeRegistry(
                "c2",
                8,
                "",
                12,
                Map.of("a", new RegisteredProcess("f0", 1), "b", new RegisteredProcess("f9", 12)),
                Set.of(),
                null,
                null));
  }

  @Test
  void itIsWrittenWithWhatChangesItAndWithTheWhole() {
    NodeRegistry one = born.with("a", "f0").cordon("a", true).cordon("b", true);
    assertThat(one.without("a", 1).standingBy("older").cordoned())
        .containsExactlyInAnyOrder("a", "b");
    assertThat(one.cordon("b", true).cordon("c", false)).isSameAs(one);
    DesiredChange change = DesiredState.EMPTY.nodes(one);
    DesiredState state = DesiredState.EMPTY.with(List.of(DesiredRig.again(change)));
    assertThat(state.nodes()).isEqualTo(one);
    assertThat(state.nodes(one)).isNull();

    DesiredState later = state.with(List.of(state.nextTerm(2, 0)));
    assertThat(later.nodes()).isEqualTo(one);
    assertThat(DesiredState.EMPTY.with(List.of(DesiredRig.again(later.whole()))).nodes())
        .isEqualTo(one);
    assertThat(DesiredState.EMPTY.nextTerm(2, 0).toJson().containsKey("nodes")).isFalse();
  }

  @Test
  void commandsChangeItInTheirTurnAndOutlastARestart() throws IOException {
    start(ConfigReader.read("file", folder, "{applications: []}"), new JournalLog(kept()));
    ok(control.nodes(none -> born));
    Future<NodeRegistry> first = control.nodes(on -> on.with("a", "f0"));
    Future<NodeRegistry> second = control.nodes(on -> on.with("b", "f1"));
    assertThat(ok(second).nodes().keySet()).containsExactlyInAnyOrder("a", "b");
    assertThat(first.result().nodes().keySet()).containsExactly("a");
    stop();

    start(ConfigReader.read("file", folder, "{applications: []}"), new JournalLog(kept()));
    assertThat(control.nodes()).isEqualTo(second.result());
  }

  /** A command copies jars for seconds, and a lost node would not be replaced meanwhile. */
  @Test
  void nodesAreCommittedWhileACommandRuns() throws IOException {
    start(ConfigReader.read("file", folder, "{applications: []}"), new JournalLog(kept()));
    ok(control.nodes(none -> born));
    List<DesiredState> computedOn = new ArrayList<>();
    Future<?> command =
        control.carryOut(
            0,
            () ->
                on -> {
                  computedOn.add(on);
                  if (computedOn.size() == 1) {
                    Future<NodeRegistry> node = control.nodes(was -> was.with("a", "f0"));
                    assertThat(ok(node).find("a")).isNotNull();
                  }
                  return new ServeControl.CommandDecision(
                      on.nextTerm(on.head.keeps(), 0), List.of());
                });
    ok(command);
    assertThat(computedOn).hasSize(2);
    assertThat(control.nodes().find("a")).isNotNull();
    assertThat(control.logged().term()).isEqualTo(computedOn.get(0).head.term() + 1);
  }

  /** Each node that comes makes a command that is computed beside it one of an earlier state. */
  @Test
  void commandIsCommittedAmongNodesThatComeAllTheWhile() throws Exception {
    List<Thread> came = new ArrayList<>();
    JournalLog log = new JournalLog(kept());
    log.open();
    CommandCommitter commits = commits(log);
    commits.nodes(none -> born);
    AtomicInteger computed = new AtomicInteger();
    CommandCommitter.CommittedCommand done =
        commits.carryOut(
            on -> {
              String name = "n" + computed.incrementAndGet();
              came.add(comes(commits, name));
              return new ServeControl.CommandDecision(on.nextTerm(on.head.keeps(), 0), List.of());
            },
            Set.of(),
            Map.of());
    assertThat(done.state().head.term()).isEqualTo(done.on().head.term() + 1);
    assertThat(computed).hasValueLessThan(CommandCommitter.MAX_TRIES);
    for (Thread each : came) {
      each.join(); // it writes into the folder
    }
    log.close();
  }

  private CommandCommitter commits(StateLog log) {
    DeclaredJarStore jars = new DeclaredJarStore(log, () -> nowMs, DeclaredJarStore.MAX_BYTES);
    EntryReader reader =
        new EntryReader(jars, ConfigReader.read("file", folder, "{applications: []}"));
    return new CommandCommitter(log, jars, reader, new AtomicBoolean(), new LongAdder());
  }

  /** Another thread commits a node, unless it has to wait for the caller. */
  private static Thread comes(CommandCommitter commits, String name) {
    Thread thread = new Thread(() -> commits.nodes(on -> on.with(name, "f0")), name);
    thread.start();
    while (thread.isAlive() && thread.getState() != Thread.State.BLOCKED) {
      Thread.onSpinWait();
    }
    return thread;
  }

  /** Both would be computed on one state, and the later one would be lost. */
  @Test
  void nodeIsNotCommittedWhileRevisionsAreLetGoOf() throws Exception {
    List<Thread> came = new ArrayList<>();
    List<CommandCommitter> commits = new ArrayList<>();
    InterceptedLog log =
        new InterceptedLog(
            new JournalLog(kept()),
            () -> false,
            new InterceptedLog.Before() {
              @Override
              public void proposal(DesiredChange change) {}

              @Override
              public boolean notes() {
                came.add(comes(commits.get(0), "a"));
                return came.get(0).isAlive();
              }
            });
    log.open();
    commits.add(commits(log));
    commits.get(0).nodes(none -> born);
    DeclaredJarStore jars = new DeclaredJarStore(log, () -> Long.MAX_VALUE, 3);
    jars.begin(Set.of());
    for (String build : List.of("1", "2", "3", "4")) {
      log.prepare();
      jars.prepare();
      List<Jar> kept = jars.keep(List.of(Files.writeString(folder.resolve("a.jar"), build)));
      for (Thread each : came) {
        each.join();
      }
      ApplicationSpec wanted = new ApplicationSpec("/a", "{}", kept, false, build);
      log.propose(Objects.requireNonNull(log.state().deploy("a", wanted, null, 1)));
      long revision = Objects.requireNonNull(log.state().find("a")).revision();
      log.propose(
          Objects.requireNonNull(
              log.state().mark(List.of(DesiredRig.announce("a", revision, null)))));
      jars.begin(Set.of());
    }
    assertThat(came).hasSize(1);
    assertThat(log.state().nodes().find("a")).isNotNull();
    log.close();
  }

  @Test
  void closeWaitsForTheCommitOfANode() {
    start(ConfigReader.read("file", folder, "{applications: []}"), new JournalLog(kept()));
    Future<NodeRegistry> node = control.nodes(none -> born);
    stop();
    assertThat(node.result()).isEqualTo(born);
    refused(
        CommandRejectedException.CommandRejectionReason.UNAVAILABLE,
        control.nodes(on -> on.with("a", "f0")));
  }

  @Test
  void whatIsNotKeptIsRefused() {
    start(ConfigReader.read("file", folder, "{applications: []}"), takesNotes());
    notes = false;
    refused(CommandRejectedException.CommandRejectionReason.UNAVAILABLE, control.nodes(on -> born));
    assertThat(control.nodes()).isEqualTo(NodeRegistry.NONE);
  }

  @Test
  void whoIsANodeIsKeptWhereThereIsRoomForNotesAlone() {
    start(ConfigReader.read("file", folder, "{applications: []}"), takesNotes());
    assertThat(ok(control.nodes(on -> born.with("a", "f0"))).find("a")).isNotNull();
    assertThat(ok(control.nodes(on -> on.without("a", 1))).find("a")).isNull();
  }

  private boolean notes = true; // are kept

  /** Takes no commands. */
  private InterceptedLog takesNotes() {
    return new InterceptedLog(
        new JournalLog(kept()),
        () -> false,
        new InterceptedLog.Before() {
          @Override
          public void proposal(DesiredChange change) throws IOException {
            throw new IOException("16777215 bytes are free");
          }

          @Override
          public boolean notes() {
            return notes;
          }
        });
  }
}
