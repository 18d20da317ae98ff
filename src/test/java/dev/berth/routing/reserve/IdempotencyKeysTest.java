package dev.berth.routing.reserve;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class IdempotencyKeysTest {
  private static final long KEPT = 1000;

  private final IdempotencyKeys<String> keys = new IdempotencyKeys<>(10, 10, KEPT);

  @Test
  void aKeyIsGoodForAllOfItsTimeAndNoLongerThoughNobodySwept() {
    keys.put("caller", "key", "wish", "asked", 500);
    assertThat(keys.find("caller", "key", 500 + KEPT - 1))
        .isEqualTo(new IdempotencyKeys.RetainedRequest<>("wish", "asked", 500 + KEPT));
    assertThat(keys.find("caller", "key", 500 + KEPT)).isNull();
  }
}
