package dev.berth.upstream;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.fakes.CountingUpstream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/** Two upstreams, in front of which a test starts an instance. */
abstract class UpstreamPair {
  CountingUpstream one;
  CountingUpstream two;
  UpstreamRig rig; // set by the test

  @BeforeEach
  void startUpstreams() throws Exception {
    one = new CountingUpstream();
    two = new CountingUpstream();
  }

  @AfterEach
  void everySlotIsReturned() throws Exception {
    try (CountingUpstream first = one;
        CountingUpstream second = two;
        UpstreamRig instance = rig) {
      instance.assertAtRest();
      assertThat(first.violations()).isEmpty();
      assertThat(second.violations()).isEmpty();
    }
  }
}
