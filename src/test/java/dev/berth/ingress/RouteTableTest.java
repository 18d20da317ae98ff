package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class RouteTableTest {

  @Test
  void theRootTakesEveryPath() {
    RouteTable<String> table = table("/");
    assertThat(table.match("/")).isEqualTo("/");
    assertThat(table.match("/any/path")).isEqualTo("/");
  }

  @ParameterizedTest
  @CsvSource({
    "/a, /a",
    "/a/, /a",
    "/a/x, /a",
    "/a/b, /a/b",
    "/a/b/c/d, /a/b",
    "/ab, /",
    "/a-b, /a-b",
    "/a-b/x, /a-b",
    "/a-bc, /",
    "/A, /",
    "/, /"
  })
  void theLongestMatchingPrefixWins(String path, String route) {
    assertThat(table("/", "/a", "/a/b", "/a-b").match(path)).isEqualTo(route);
  }

  @Test
  void aPrefixDoesNotTakeALongerWord() {
    RouteTable<String> table = table("/route");
    assertThat(table.match("/route")).isEqualTo("/route");
    assertThat(table.match("/routesuffix")).isNull();
    assertThat(table.match("/rout")).isNull();
    assertThat(table.match("/")).isNull();
  }

  @Test
  void aTableWithoutRoutesTakesNothing() {
    RouteTable<String> table = RouteTable.empty();
    assertThat(table.match("/")).isNull();
    assertThat(table.routes()).isEmpty();
  }

  @Test
  void aPathIsMatchedPercentDecoded() {
    RouteTable<String> table = table("/caf\u00e9", "/a+b");
    assertThat(table.match("/caf%C3%A9/x")).isEqualTo("/caf\u00e9");
    assertThat(table.match("/a+b")).isEqualTo("/a+b");
    assertThat(table.match("/a%2Bb")).isEqualTo("/a+b");
    assertThat(table.match("/%zz")).isNull();
  }

  @Test
  void theRootPathIsTakenOffWhenItIsThere() {
    RouteTable<String> table =
        RouteTable.of("/serve", Map.of("/", "root", "/a", "a", "/server", "server"));
    assertThat(table.match("/serve")).isEqualTo("root");
    assertThat(table.match("/serve/a/x")).isEqualTo("a");
    assertThat(table.match("/a")).as("a proxy took it off").isEqualTo("a");
    assertThat(table.match("/server")).isEqualTo("server");
  }

  @Test
  void aMappedTableHasTheSameRoutes() {
    RouteTable<Integer> lengths = table("/", "/abc").map((prefix, target) -> target.length());
    assertThat(lengths.match("/abc/x")).isEqualTo(4);
    assertThat(lengths.routes()).containsExactly(Map.entry("/", 1), Map.entry("/abc", 4));
  }

  /** Beside Ray's own loop: sorted by length, the first that matches. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 5, 8, 13, 21, 34})
  void agreesWithTheSimplestScan(long seed) {
    Random random = new Random(seed);
    for (int round = 0; round < 200; round++) {
      List<String> prefixes = new ArrayList<>();
      int count = random.nextInt(12);
      for (int i = 0; i < count; i++) {
        String path = randomPath(random);
        prefixes.add(path.length() > 1 && path.endsWith("/") ? path + "a" : path);
      }
      RouteTable<String> table = table(prefixes.toArray(String[]::new));
      for (int i = 0; i < 50; i++) {
        String path = randomPath(random);
        assertThat(table.match(path))
            .as("seed %d, routes %s, path %s", seed, prefixes, path)
            .isEqualTo(scan(prefixes, path));
      }
    }
  }

  private static String randomPath(Random random) {
    StringBuilder path = new StringBuilder("/");
    int length = random.nextInt(6);
    for (int i = 0; i < length; i++) {
      char last = path.charAt(path.length() - 1);
      char next = "a/-b0".charAt(random.nextInt(5));
      path.append(next == '/' && last == '/' ? 'a' : next);
    }
    return path.toString();
  }

  private static String scan(List<String> prefixes, String path) {
    return prefixes.stream()
        .filter(
            prefix ->
                path.startsWith(prefix)
                    && (prefix.endsWith("/")
                        || path.length() == prefix.length()
                        || path.charAt(prefix.length()) == '/'))
        .max(Comparator.comparingInt(String::length))
        .orElse(null);
  }

  private static RouteTable<String> table(String... prefixes) {
    Map<String, String> routes = new LinkedHashMap<>();
    for (String prefix : prefixes) {
      routes.put(prefix, prefix);
    }
    return RouteTable.of("", routes);
  }
}
