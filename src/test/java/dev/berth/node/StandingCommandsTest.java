package dev.berth.node;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.controller.ControllerAction.Announce;
import dev.berth.view.ApplicationStatus;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class StandingCommandsTest {
  private final RetainedCommands standing = new RetainedCommands();

  @Test
  void theControllersNodeListensWhenItIsRegisteredToo() {
    standing.begin(List.of("shop"));
    standing.onRecovered();
    standing.announced(
        new Announce("shop", 1, ApplicationStatus.DEPLOY_FAILED, "", false, Set.of()));
    assertThat(standing.complete().isComplete()).isFalse();

    standing.registered();

    assertThat(standing.complete().succeeded()).isTrue();
  }

  @Test
  void itIsNotCompleteBeforeTheControllerDecidesAndApplicationsAreRouted() {
    standing.begin(List.of("shop"));
    standing.registered();
    assertThat(standing.complete().isComplete()).isFalse();
    standing.onRecovered();
    assertThat(standing.complete().isComplete()).isFalse();

    standing.announced(new Announce("shop", 1, ApplicationStatus.RUNNING, "", true, Set.of()));

    assertThat(standing.complete().succeeded()).isTrue();
  }

  @Test
  void whatDoesNotComeIsNotWaitedForWithoutEnd() {
    standing.begin(List.of("shop"));
    standing.onRecovered();

    standing.giveUp();

    assertThat(standing.complete().succeeded()).isTrue();
  }
}
