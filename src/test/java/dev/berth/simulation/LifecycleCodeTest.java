package dev.berth.simulation;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.Rollouts;
import dev.berth.simulation.LifecycleCode.Part;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What the names of versions say. */
class LifecycleCodeTest {

  /** 13002550 and 13002939: starts of up to 15 minutes, and as many as nine of them. */
  @ParameterizedTest
  @CsvSource({
    "c1,  l2,  true",
    "c1!, l2,  true",
    "c1,  l2!, true",
    "c1~, l2!, true",
    "c1?, l2!, false",
    "c1%, l2!, false",
    "c1!, l2?, false",
    "c1,  l2%, false",
    "c1~, l2,  false",
    "c1+, l2,  false",
  })
  void whatHangsBeforeItFailsDoesNotComeToAnEndInTheCalm(String code, String live, boolean ends) {
    Part part = new Part("in", code, live, 3, Rollouts.DEFAULTS, 10, 10);
    assertThat(part.comesToAnEnd()).isEqualTo(ends);
  }
}
