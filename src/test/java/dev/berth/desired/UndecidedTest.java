package dev.berth.desired;

import static dev.berth.fakes.Submits.submit;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.code.StartFailedException;
import dev.berth.config.ConfigReader;
import dev.berth.controller.ControllerEvent;
import dev.berth.view.CommandRejectedException;
import dev.berth.view.CommandRejectedException.CommandRejectionReason;
import io.vertx.core.Future;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A log that does not know yet what has become of a change, and one that loses notes. */
class UndecidedTest extends ServeControlRig {
  private static final String A = "{name: a, route_prefix: /a, import_path: x.A}";
  private static final String B = "{name: b, route_prefix: /b, import_path: x.B}";

  private final List<DesiredChange> late = new ArrayList<>();
  private boolean slow;
  private boolean notes = true;
  private JournalLog journal;

  private void start() {
    journal = new JournalLog(kept());
    InterceptedLog.Before before =
        new InterceptedLog.Before() {
          @Override
          public void proposal(DesiredChange change) throws IOException {
            if (slow) {
              late.add(change);
              throw new CommitOutcomeUnknownException("no answer within 3 s");
            }
          }

          @Override
          public boolean notes() {
            return notes;
          }
        };
    start(
        ConfigReader.read("file", folder, "{applications: []}"),
        new InterceptedLog(journal, () -> false, before));
  }

  private List<String> told() {
    List<String> all =
        controls.told.stream()
            .map(each -> ((ControllerEvent.Declared) each).application())
            .map(each -> each.name() + " " + each.revision())
            .toList();
    controls.told.clear();
    return all;
  }

  private Future<Void> deployA() {
    return submit(commands().once("1"), "a", A);
  }

  @Test
  void whatComesTrueLaterIsToldWhenItIsAskedAgain() throws IOException {
    start();
    slow = true;
    CommandRejectedException refused = refused(CommandRejectionReason.UNAVAILABLE, deployA());
    assertThat(refused)
        .hasMessage(
            "outcome unknown: no answer within 3 s (expected: retry with the same"
                + " Idempotency-Key)");
    assertThat(names()).isEmpty();

    slow = false;
    journal.propose(late.get(0));
    ok(deployA());

    assertThat(told()).containsExactly("a 1");
    assertThat(className("a")).isEqualTo("x.A");
    ok(deployA());
    assertThat(told()).isEmpty();
  }

  @Test
  void whatNeverComesTrueIsCarriedOutWhenItIsAskedAgain() {
    start();
    slow = true;
    refused(CommandRejectionReason.UNAVAILABLE, deployA());
    slow = false;
    ok(deployA());
    assertThat(told()).containsExactly("a 1");
  }

  @Test
  void anotherCommandTellsItTooBeItRefused() throws IOException {
    start();
    deploy("b", B);
    assertThat(told()).containsExactly("b 1");
    slow = true;
    refused(CommandRejectionReason.UNAVAILABLE, deployA());
    journal.propose(late.get(0));

    refused(CommandRejectionReason.NOT_FOUND, commands().delete("none"));

    assertThat(told()).containsExactly("a 2");
  }

  @Test
  void aNoteThatIsNotKeptIsSaidAgainAfterTheNextChange() {
    start();
    deploy("a", A);
    notes = false;
    ran("a");
    assertThat(journal.state().find("a").healthy()).isFalse();
    notes = true;
    deploy("b", B);
    assertThat(journal.state().find("a").healthy()).isTrue();
  }

  @Test
  void aControllerIsNotStartedAnewUnderATermThatIsNotKept() {
    start();
    notes = false;
    assertThat(refused(CommandRejectionReason.UNAVAILABLE, commands().restartController()))
        .hasMessageStartingWith("the controller term cannot be stored");
    assertThat(controls.restarts).isEmpty();
    notes = true;
    ok(commands().restartController());
    assertThat(controls.restarts).containsExactly(2L);
  }

  @Test
  void theLogOfAClusterIsNoJournal() throws IOException {
    Files.createDirectories(folder.resolve("state/log"));
    assertThatThrownBy(() -> new JournalLog(kept()).open())
        .isInstanceOf(StartFailedException.class)
        .hasMessage(
            "berth.state_dir: %s is the log of a cluster (expected: berth.cluster, or another"
                + " directory)",
            folder.resolve("state/log"));
  }
}
