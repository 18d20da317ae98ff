package dev.berth.admin;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

class HostGuardTest {
  private final HostHeaderFilter onLoopback = new HostHeaderFilter("127.0.0.1", true);

  @ParameterizedTest
  @NullSource
  @ValueSource(
      strings = {
        "localhost",
        "LOCALHOST:8265",
        "localhost.",
        "berth.localhost:8265",
        "127.0.0.1",
        "127.0.0.1:8265",
        "127.1.2.3",
        "[::1]:8265",
        "[::1]"
      })
  void namesOfThisMachineAreAnswered(String host) {
    assertThat(onLoopback.allows(host)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "evil.example",
        "evil.example:8265",
        "127.0.0.1.evil.example",
        "127.0.0.evil",
        "localhost.evil.example",
        "notlocalhost",
        "10.0.0.1:8265",
        "[::2]:8265",
        "127.0.0.1:8265:1"
      })
  void otherNamesAreRefusedOnLoopback(String host) {
    assertThat(onLoopback.allows(host)).isFalse();
  }

  @Test
  void theConfiguredNameIsAnswered() {
    HostHeaderFilter guard = new HostHeaderFilter("admin.internal", true);
    assertThat(guard.allows("Admin.Internal:8265")).isTrue();
    assertThat(guard.allows("other.internal")).isFalse();
  }

  @Test
  void aServerForOthersAnswersEveryName() {
    assertThat(new HostHeaderFilter("0.0.0.0", false).allows("evil.example")).isTrue();
  }
}
