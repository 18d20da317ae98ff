package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.ingress.edge.TrustedNetworks;
import dev.berth.ingress.limit.ConnectionRateLimiter;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ConnectionRateTest {
  private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
  private static final InetSocketAddress CLIENT = address("192.0.2.1");

  private long now = -5; // clocks may begin anywhere
  private final ConnectionRateLimiter rate =
      new ConnectionRateLimiter(10, new TrustedNetworks(List.of("10.0.0.0/8", "2001:db8::7")));

  private static InetSocketAddress address(String text) {
    return new InetSocketAddress(text, 1234);
  }

  private int servedAtOnce(InetSocketAddress from) {
    int served = 0;
    while (served < 1000 && rate.open(from, now) == 0) {
      served++;
    }
    return served;
  }

  @Test
  void whatWasNotOpenedInTheLastTenSecondsIsOpenedAtOnce() {
    assertThat(servedAtOnce(CLIENT)).isEqualTo(101);
    now += SECOND;
    assertThat(servedAtOnce(CLIENT)).isEqualTo(9); // one more has waited
    now += 60 * SECOND;
    assertThat(servedAtOnce(CLIENT)).isEqualTo(101);
  }

  @Test
  void whoIsFasterWaitsForItsTurnAndThenIsClosed() {
    servedAtOnce(CLIENT); // the last of them was told to wait
    long before = SECOND / 10;
    for (int i = 2; i <= 10; i++) {
      assertThat(rate.open(CLIENT, now)).isEqualTo(i * before);
    }
    assertThat(rate.open(CLIENT, now)).isEqualTo(ConnectionRateLimiter.REFUSED);
    assertThat(rate.open(CLIENT, now))
        .as("and costs nothing")
        .isEqualTo(ConnectionRateLimiter.REFUSED);
    now += before;
    assertThat(rate.open(CLIENT, now)).isEqualTo(SECOND);
  }

  @Test
  void oneThatWasCutCountsAsFifty() {
    rate.chargeFlood(CLIENT, now);
    assertThat(servedAtOnce(CLIENT)).isEqualTo(51);
    for (int i = 0; i < 1000; i++) {
      rate.chargeFlood(CLIENT, now);
    }
    now += 10 * SECOND;
    assertThat(rate.open(CLIENT, now)).as("for seconds, and no longer").isZero();
  }

  @Test
  void addressesDoNotPayForEachOther() {
    servedAtOnce(CLIENT);
    assertThat(servedAtOnce(address("192.0.2.2"))).isEqualTo(101);
    assertThat(servedAtOnce(address("2001:db8:0:1::1"))).isEqualTo(101);
    assertThat(servedAtOnce(address("2001:db8:0:1:2::9"))).as("one network").isZero();
    assertThat(servedAtOnce(address("2001:db8:0:2::1"))).isEqualTo(101);
  }

  @ParameterizedTest
  @ValueSource(strings = {"10.0.0.1", "10.255.3.4", "2001:db8::7"})
  void aTrustedProxyHasNoRate(String proxy) {
    assertThat(servedAtOnce(address(proxy))).isEqualTo(1000);
  }

  @Test
  void nobodyHasWhereItIsZero() {
    ConnectionRateLimiter off = new ConnectionRateLimiter(0, new TrustedNetworks(List.of()));
    for (int i = 0; i < 10_000; i++) {
      assertThat(off.open(CLIENT, now)).isZero();
    }
  }

  @Test
  void manyAddressesAreForgottenTheOldestFirst() {
    servedAtOnce(CLIENT);
    for (int i = 0; i < ConnectionRateLimiter.MAX_ADDRESSES; i++) {
      rate.open(address("198.51." + i / 256 + "." + i % 256), now);
    }
    assertThat(servedAtOnce(CLIENT)).isEqualTo(101);
  }
}
