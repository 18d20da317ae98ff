package dev.berth.ingress.edge;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assertions.assertTimeout;

import dev.berth.protocol.RequestOrigin;
import io.vertx.core.MultiMap;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ForwardedWalkTest {
  private static final TrustedNetworks TRUSTED =
      new TrustedNetworks(List.of("10.0.0.0/8", "fd00::/8"));
  private static final String PROXY = "10.0.0.1";

  private static InetSocketAddress peer(String address) {
    return Objects.requireNonNull(ForwardedWalk.address(address));
  }

  private static String origin(String peer, String... headers) {
    MultiMap map = MultiMap.caseInsensitiveMultiMap().add("host", "own:8000");
    for (int i = 0; i < headers.length; i += 2) {
      map.add(headers[i], headers[i + 1]);
    }
    RequestOrigin found = ForwardedWalk.origin(map, peer(peer), TRUSTED, "http");
    return found.scheme() + " " + found.host() + " " + found.client();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "192.0.2.1 | 192.0.2.1",
        "192.0.2.1:4711 | 192.0.2.1",
        "[2001:db8::1]:4711 | 2001:db8::1",
        "2001:DB8::1 | 2001:db8::1",
        "::ffff:192.0.2.1 | 192.0.2.1",
        "198.51.100.9, 192.0.2.1 | 192.0.2.1",
        "192.0.2.1, 10.1.1.1, 10.2.2.2 | 192.0.2.1",
        "10.1.1.1, 10.2.2.2 | 10.1.1.1",
        "192.0.2.1, unknown | 10.0.0.1",
        "192.0.2.1, unknown, 10.2.2.2 | 10.2.2.2",
        "192.0.2.1, , 10.2.2.2 | 10.2.2.2",
        "192.0.2.1, 10.2.2 | 10.0.0.1",
        "localhost | 10.0.0.1",
        "[::1 | 10.0.0.1",
        "[192.0.2.1] | 10.0.0.1",
        "fe80::1%eth0 | 10.0.0.1",
        "192.0.2.1:x | 10.0.0.1",
        "'' | 10.0.0.1",
      })
  void nearestHopThatIsNoProxyIsTheClient(String header, String client) {
    assertThat(origin(PROXY, "X-Forwarded-For", header)).isEqualTo("http own:8000 " + client);
  }

  @ParameterizedTest
  @CsvSource({
    "X-Forwarded-For, 198.51.100.1",
    "X-Forwarded-Proto, https",
    "X-Forwarded-Host, shop.example",
    "Forwarded, for=198.51.100.1;proto=https;host=shop.example",
  })
  void headersOfAnUntrustedPeerHaveNoEffect(String name, String value) {
    assertThat(origin("192.0.2.9", name, value)).isEqualTo("http own:8000 192.0.2.9");
  }

  @Test
  void schemeAndHostAreThoseOfTheClientsHop() {
    assertThat(
            origin(
                PROXY,
                "X-Forwarded-For",
                "1.1.1.1, 192.0.2.1, 10.2.2.2",
                "X-Forwarded-Proto",
                "ftp, HTTPS, http",
                "X-Forwarded-Host",
                "evil.example, shop.example"))
        .isEqualTo("https evil.example 192.0.2.1"); // a shorter list: its first is for the farthest
    assertThat(
            origin(
                PROXY,
                "X-Forwarded-For",
                "192.0.2.1",
                "X-Forwarded-Proto",
                "gopher",
                "X-Forwarded-Host",
                "a b",
                "X-Forwarded-Port",
                "443"))
        .isEqualTo("http own:8000 192.0.2.1");
    assertThat(origin(PROXY, "X-Forwarded-Host", "[fd00::1]", "X-Forwarded-Port", "444"))
        .isEqualTo("http [fd00::1]:444 " + PROXY);
    assertThat(origin(PROXY, "X-Forwarded-Host", "a:1", "X-Forwarded-Port", "444"))
        .isEqualTo("http a:1 " + PROXY);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "for=192.0.2.1 | http own:8000 192.0.2.1",
        "For=\"[2001:db8:cafe::17]:4711\" | http own:8000 2001:db8:cafe::17",
        "for=192.0.2.1;proto=https;by=10.0.0.1;host=shop.example | https shop.example 192.0.2.1",
        "for=1.1.1.1;proto=ftp, for=192.0.2.1 ; proto=\"https\" | https own:8000 192.0.2.1",
        "for=192.0.2.1;proto=https, for=10.2.2.2;proto=http | https own:8000 192.0.2.1",
        "for=\"a,b\", for=10.2.2.2;host=x | http x 10.2.2.2",
        "for=192.0.2.1;host=\"a\\\"b\" | http own:8000 192.0.2.1",
        "for=192.0.2.1;host=\"a:65535\" | http a:65535 192.0.2.1",
        "for=192.0.2.1;host=\"a:65536\" | http own:8000 192.0.2.1",
        "for=192.0.2.1;host=\"[fe80::1%eth0]\" | http own:8000 192.0.2.1",
        "for=_hidden;proto=https | https own:8000 10.0.0.1",
        "for=192.0.2.1;proto | http own:8000 10.0.0.1",
        "for=192.0.2.1, for=\"10.2.2.2 | http own:8000 10.0.0.1",
        "nonsense | http own:8000 10.0.0.1",
      })
  void standardHeaderIsRead(String header, String origin) {
    assertThat(origin(PROXY, "Forwarded", header)).isEqualTo(origin);
  }

  @Test
  void twoFormsThatDifferHaveNoEffect() {
    String[] headers = {
      "X-Forwarded-For", "192.0.2.1", "X-Forwarded-Proto", "https", "Forwarded", "for=192.0.2.7"
    };
    assertThat(origin(PROXY, headers)).isEqualTo("http own:8000 " + PROXY);
    headers[5] = "for=192.0.2.1";
    assertThat(origin(PROXY, headers)).isEqualTo("http own:8000 " + PROXY); // without the scheme
    headers[5] = "for=192.0.2.1;proto=https";
    assertThat(origin(PROXY, headers)).isEqualTo("https own:8000 192.0.2.1");
  }

  @ParameterizedTest
  @CsvSource({"X-Forwarded-For, ''", "Forwarded, for="})
  void hopsBeyondTheThirtySecondHaveNoEffect(String name, String prefix) {
    String proxies = (", " + prefix + "10.2.2.2").repeat(31);
    assertThat(origin(PROXY, name, prefix + "192.0.2.1" + proxies)).endsWith(" 192.0.2.1");
    String more = prefix + "192.0.2.1, " + prefix + "10.3.3.3" + proxies;
    assertThat(origin(PROXY, name, more)).endsWith(" 10.3.3.3");
  }

  @Test
  void hostAboveTheMaximumLengthIsIgnored() {
    String host = "h".repeat(255);
    String[] headers = {"X-Forwarded-For", "192.0.2.1, 10.2.2.2", "X-Forwarded-Host", host};
    assertThat(origin(PROXY, headers)).isEqualTo("http " + host + " 192.0.2.1");
    headers[3] = host + "h, x";
    assertThat(origin(PROXY, headers)).isEqualTo("http own:8000 192.0.2.1");
    headers[3] = host + "h";
    assertThat(origin(PROXY, headers)).isEqualTo("http own:8000 192.0.2.1");
    String standard = "for=192.0.2.1;host=" + host + "h, for=10.2.2.2;host=x";
    assertThat(origin(PROXY, "Forwarded", standard)).isEqualTo("http own:8000 192.0.2.1");
  }

  @ParameterizedTest
  @ValueSource(strings = {",", ":", ";", " ", ", ", "x"})
  void largeHeadIsReadInAShortTime(String part) {
    String large = part.repeat(4000);
    String colons = ":1".repeat(2000) + "x";
    assertTimeout(
        Duration.ofSeconds(5),
        () -> {
          for (int i = 0; i < 50; i++) {
            origin(PROXY, "X-Forwarded-For", large, "X-Forwarded-Host", colons);
            origin(PROXY, "X-Forwarded-For", large, "X-Forwarded-Host", large + colons);
            origin(
                PROXY,
                "X-Forwarded-For",
                ",".repeat(4000),
                "X-Forwarded-Host",
                colons,
                "X-Forwarded-Port",
                "1");
            origin(PROXY, "Forwarded", large + "=");
          }
        });
  }

  @Property
  void clientIsThePeerUnlessAllNearerHopsAreTrusted(@ForAll("chains") List<String> chain) {
    int nearest = chain.size() - 1;
    while (nearest > 0 && chain.get(nearest).startsWith("10.")) {
      nearest--;
    }
    String expected = chain.get(nearest);
    if (!expected.matches("[\\d.]+")) {
      expected = nearest == chain.size() - 1 ? PROXY : chain.get(nearest + 1);
    }
    assertThat(origin(PROXY, "X-Forwarded-For", String.join(", ", chain))).endsWith(" " + expected);
    String standard = "for=" + String.join(", for=", chain);
    assertThat(origin(PROXY, "Forwarded", standard)).endsWith(" " + expected);
  }

  @Provide
  Arbitrary<List<String>> chains() {
    return Arbitraries.of("10.0.0.7", "10.9.9.9", "192.0.2.1", "198.51.100.2", "unknown", "_x")
        .list()
        .ofMinSize(1)
        .ofMaxSize(8);
  }

  @Property
  void anyTextHasAnOrigin(@ForAll("texts") String common, @ForAll("texts") String standard) {
    assertThat(origin(PROXY, "X-Forwarded-For", common, "Forwarded", standard)).isNotEmpty();
    assertThat(origin(PROXY, "Forwarded", standard, "X-Forwarded-Host", common)).isNotEmpty();
  }

  @Provide
  Arbitrary<String> texts() {
    return Arbitraries.strings().withChars("for=host\",;\\ 10.[]:%").ofMaxLength(40);
  }
}
