package dev.berth.ingress.access;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TokenInPathTest {
  private static final String TOKEN = "0123456789abcdef0123456789abcdef";

  @Test
  void aTokenIsLoggedNowhereInAPath() {
    assertThat(ReservationTokenRedactor.hidden("/x/reservations/" + TOKEN))
        .isEqualTo("/x/reservations/-");
    assertThat(ReservationTokenRedactor.hidden("/reservations/" + TOKEN + "/y"))
        .isEqualTo("/reservations/-/y");
  }

  @Test
  void anotherPathIsLoggedAsItCame() {
    assertThat(ReservationTokenRedactor.hidden("/" + TOKEN)).isEqualTo("/" + TOKEN);
    assertThat(ReservationTokenRedactor.hidden("/reservations/mine"))
        .isEqualTo("/reservations/mine");
  }
}
