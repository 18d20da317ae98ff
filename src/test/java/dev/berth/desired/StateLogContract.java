package dev.berth.desired;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.desired.DesiredApplication.ApplicationSpec;
import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What every log promises. */
public abstract class StateLogContract {
  @TempDir protected Path folder;

  protected StateLog log;

  /** One over the same folder, not opened. */
  protected abstract StateLog make();

  protected StateLog open() throws IOException {
    log = make();
    log.open();
    log.prepare();
    return log;
  }

  protected void reopen() throws IOException {
    log.close();
    open();
  }

  @AfterEach
  void closeIt() {
    if (log != null) {
      log.close();
    }
  }

  /** A deploy of an application that says so. */
  protected static DesiredChange deploy(DesiredState on, String application, String says) {
    ApplicationSpec wanted =
        new ApplicationSpec("/" + application, says(says), List.of(), true, says);
    return Objects.requireNonNull(on.deploy(application, wanted, null, 1));
  }

  /** A controller starts. */
  protected static DesiredChange term(DesiredState on) {
    return on.nextTerm(3, 0);
  }

  private static String says(String what) {
    return new JsonObject().put("says", what).encode();
  }

  protected static @Nullable String said(DesiredState state, String application) {
    DesiredApplication known = state.find(application);
    return known == null ? null : known.wanted().digest();
  }

  protected void deployed(String application, String says) throws IOException {
    assertThat(log.propose(deploy(log.state(), application, says))).isSameAs(log.state());
  }

  /** All that is kept of a state. */
  protected static JsonObject whole(DesiredState state) {
    return state.whole().toJson();
  }

  @Test
  void whatWasCommittedIsThereAgainAndGoesOn() throws IOException {
    open();
    deployed("a", "1");
    deployed("b", "1");
    deployed("a", "2");
    assertThat(log.note("the term", term(log.state()))).isSameAs(log.state());
    DesiredState before = log.state();
    assertThat(log.isKept()).isTrue();

    reopen();
    assertThat(whole(log.state())).isEqualTo(whole(before));
    assertThat(log.state().index()).isEqualTo(before.index());
    deployed("c", "1");
    assertThat(said(log.state(), "a")).isEqualTo("2");
  }

  @Test
  void aChangeThatWasComputedOnAnOlderStateIsNone() throws IOException {
    open();
    deployed("a", "1");
    DesiredChange late = deploy(log.state(), "b", "1");
    deployed("a", "2");
    DesiredState before = log.state();
    assertThat(log.propose(late)).isNull();
    assertThat(log.state()).isSameAs(before);
    deployed("b", "1");
  }

  @Test
  void aLargeChangeIsWholeOrNone() throws IOException {
    open();
    String large = "x".repeat(5_000_000);
    deployed("a", large);
    deployed("b", "1");
    reopen();
    assertThat(said(log.state(), "a")).isEqualTo(large);
    assertThat(said(log.state(), "b")).isEqualTo("1");
  }

  @Test
  void aLongHistoryIsThatOfItsChanges() throws IOException {
    Random random = new Random(7);
    open();
    DesiredState expected = log.state();
    for (int i = 0; i < 300; i++) {
      String name = "a" + random.nextInt(20);
      DesiredChange change =
          random.nextInt(4) > 0 || expected.find(name) == null
              ? deploy(expected, name, "r" + i)
              : expected.delete(name);
      expected = expected.with(List.of(change));
      assertThat(whole(Objects.requireNonNull(log.propose(change)))).isEqualTo(whole(expected));
      if (i % 149 == 148) {
        reopen();
        assertThat(whole(log.state())).isEqualTo(whole(expected));
      }
    }
  }
}
