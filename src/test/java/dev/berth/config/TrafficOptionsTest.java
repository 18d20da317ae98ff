package dev.berth.config;

import static dev.berth.config.Yaml.onlyProblem;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.berth.config.keys.Settings;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TrafficOptionsTest {

  private static String application(String berth) {
    return "applications: [{import_path: a.B, berth: {" + berth + "}}]";
  }

  private static String endpoints(String endpoint) {
    return "applications: [{import_path: a.B}]\nberth: {endpoints: [" + endpoint + "]}";
  }

  @Test
  void anApplicationSaysWhoAnswersOnItsRoute() {
    Settings own =
        Yaml.application(
                "berth: {traffic: [{deployment: a, weight: 90}, {deployment: b, weight: 10}],",
                "  match: [{header: x-canary, exact: always, deployment: b}],",
                "  shadow: [{deployment: c, fraction: 0.5}], shard_key: {cookie: user}}")
            .get(ApplicationConfig.BERTH);

    assertThat(own.get(TrafficOptions.TRAFFIC))
        .extracting(
            side -> side.get(TrafficOptions.DEPLOYMENT), side -> side.get(TrafficOptions.WEIGHT))
        .containsExactly(tuple("a", 90.0), tuple("b", 10.0));
    assertThat(own.get(TrafficOptions.MATCH).get(0).get(TrafficOptions.EXACT)).isEqualTo("always");
    assertThat(own.get(TrafficOptions.SHADOW).get(0).get(TrafficOptions.FRACTION)).isEqualTo(0.5);
    assertThat(own.get(TrafficOptions.SHARD_KEY).find(TrafficOptions.COOKIE)).isEqualTo("user");
  }

  @Test
  void withoutAWordThereIsNoSplit() {
    Settings own = Yaml.application("route_prefix: /a").get(ApplicationConfig.BERTH);

    assertThat(own.get(TrafficOptions.TRAFFIC)).isEmpty();
    assertThat(own.get(TrafficOptions.SHADOW)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "traffic: [{deployment: a, weight: -1}] | weight: -1 (expected: a number from 0 to 1000000)",
        "traffic: [{deployment: a, weight: 0}] | traffic: weights of 0 alone (expected: one above 0)",
        "traffic: [{deployment: a}] | weight: missing",
        "traffic: [{deployment: a, weight: 1}, {deployment: a, weight: 2}] | \"a\" twice",
        "traffic: [{deployment: a, weight: 1}], shadow: [{deployment: a}] | \"a\" twice",
        "traffic: [{application: x, deployment: a, weight: 1}] | berth.endpoints",
        "shadow: [{deployment: a, fraction: 1.5}] | fraction: 1.5",
        "match: [{deployment: a}] | missing (expected: one of header, cookie, query, method)",
        "match: [{header: x, cookie: y, deployment: a}] | cookie: with header",
        "match: [{header: x, exact: y, regex: z, deployment: a}] | regex: with exact",
        "match: [{method: GET, prefix: G, deployment: a}] | prefix: with method",
        "match: [{header: x, regex: '(a', deployment: a}] | a regular expression of RE2",
        "match: [{header: 'x y', deployment: a}] | the name of a header",
        "shard_key: {header: x, path: 2} | path: with header",
        "shard_key: {path: 0} | path: 0",
      })
  void whatIsWrongIsNamed(String berth, String told) {
    onlyProblem(Yaml.problems(application(berth))).contains(told);
  }

  @Test
  void allIsToldAtOnce() {
    List<String> problems =
        Yaml.problems(
            application(
                "traffic: [{deployment: a, weight: 0}, {deployment: a, weight: 0}],"
                    + " match: [{deployment: a}], shard_key: {}"));

    assertThat(problems).hasSize(4);
  }

  @Test
  void thereAreBoundsOnSidesAndMatches() {
    String side = "{deployment: d%s, weight: 1}, ";
    String match = "{header: x%s, deployment: a}, ";
    assertThat(Yaml.problems(application("traffic: [" + many(side, 16) + "]"))).isEmpty();
    onlyProblem(Yaml.problems(application("traffic: [" + many(side, 17) + "]")))
        .contains("at most 16");
    onlyProblem(Yaml.problems(application("match: [" + many(match, 65) + "]")))
        .contains("at most 64");
  }

  private static String many(String item, int times) {
    StringBuilder all = new StringBuilder();
    for (int i = 0; i < times; i++) {
      all.append(item.formatted(i));
    }
    return all.toString();
  }

  @Test
  void anEndpointNamesApplicationsAndARouteOfItsOwn() {
    String side = "traffic: [{application: x, deployment: a, weight: 1}]";

    assertThat(Yaml.problems(endpoints("{route_prefix: /e, " + side + "}, {route_prefix: /later}")))
        .isEmpty();
    onlyProblem(Yaml.problems(endpoints("{route_prefix: /, " + side + "}")))
        .contains("that of application default");
    onlyProblem(Yaml.problems(endpoints("{route_prefix: /e}, {route_prefix: /e}")))
        .contains("twice");
    onlyProblem(
            Yaml.problems(endpoints("{route_prefix: /e, traffic: [{deployment: a, weight: 1}]}")))
        .contains("application: missing");
  }
}
