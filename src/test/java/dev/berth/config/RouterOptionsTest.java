package dev.berth.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.config.RouterOptions.RankerChoice;
import dev.berth.config.RouterOptions.RankerKind;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RouterOptionsTest {

  private static RankerChoice choice(String config) {
    return RouterOptions.choice(
        Yaml.deployment("request_router_config: " + config)
            .find(DeploymentConfig.REQUEST_ROUTER_CONFIG));
  }

  @ParameterizedTest
  @CsvSource({
    "power_of_two, POWER_OF_TWO",
    "least_requests, LEAST_REQUESTS",
    "round_robin, ROUND_ROBIN",
    "consistent_hash, CONSISTENT_HASH",
    "least_latency, LEAST_LATENCY",
    "ray.serve._private.request_router:PowerOfTwoChoicesRequestRouter, POWER_OF_TWO",
    "ray.serve._private.request_router.PowerOfTwoChoicesRequestRouter, POWER_OF_TWO",
    "ray.serve.experimental.consistent_hash_router:ConsistentHashRouter, CONSISTENT_HASH",
    "ray.serve.experimental.round_robin_router.RoundRobinRouter, ROUND_ROBIN",
    "ray.serve.experimental.capacity_queue_router:CapacityQueueRouter, LEAST_REQUESTS"
  })
  void aRankerHasItsNameAndRaysPath(String name, RankerKind ranker) {
    assertThat(choice("{request_router_class: '" + name + "'}"))
        .isEqualTo(new RankerChoice(ranker, null, Map.of()));
  }

  @ParameterizedTest
  @CsvSource({"com.acme.Nearest", "com.acme:Nearest"})
  void aClassOfTheUsersOwnIsNamedAsInEitherLanguage(String name) {
    RankerChoice own =
        choice("{request_router_class: '" + name + "', request_router_kwargs: {any: [1, x]}}");
    assertThat(own.className()).isEqualTo("com.acme.Nearest");
    assertThat(own.arguments()).containsOnlyKeys("any");
  }

  @Test
  void anArgumentNamesTheClassForACommandLineThatImportsWhatTheKeyNames() {
    RankerChoice own =
        choice(
            "{request_router_class: 'ray.serve._private.request_router:"
                + "PowerOfTwoChoicesRequestRouter',"
                + " request_router_kwargs: {berth.router: com.acme.Nearest, near: 3}}");
    assertThat(own.className()).isEqualTo("com.acme.Nearest");
    assertThat(own.arguments()).containsOnlyKeys("near");
    assertThat(choice("{request_router_kwargs: {berth.router: round_robin}}").ranker())
        .isEqualTo(RankerKind.ROUND_ROBIN);
  }

  @Test
  void whatIsNotSaidIsPowerOfTwo() {
    assertThat(choice("null")).isEqualTo(RankerChoice.USUAL);
    assertThat(choice("{}")).isEqualTo(RankerChoice.USUAL);
    assertThat(choice("{request_router_class: null, request_router_kwargs: null}"))
        .isEqualTo(RankerChoice.USUAL);
  }

  @Test
  void argumentsAreRead() {
    RankerChoice hash =
        choice(
            "{request_router_class: consistent_hash, request_router_kwargs:"
                + " {virtual_nodes: 50, fallback_replicas: 0, load_factor: 1.25}}");
    assertThat(hash.number("virtual_nodes", 100)).isEqualTo(50);
    assertThat(hash.number("fallback_replicas", 2)).isZero();
    assertThat(hash.number("load_factor", 0)).isEqualTo(1.25);
    RankerChoice rays =
        choice(
            "{request_router_class: consistent_hash,"
                + " request_router_kwargs: {num_virtual_nodes: 50}}");
    assertThat(rays.number("virtual_nodes", 100)).isEqualTo(50);
    RankerChoice two = choice("{request_router_kwargs: {prefer_local_zone: false}}");
    assertThat(two.isOn("prefer_local_zone")).isFalse();
    assertThat(two.isOn("prefer_local_node")).isTrue();
  }

  /** Ray Serve's test_initialize_state_invalid_args. */
  @Test
  void allThatIsWrongIsToldAtOnce() {
    assertThat(
            Yaml.deploymentProblems(
                "request_router_config: {request_router_class: consistent_hash,"
                    + " request_router_kwargs: {virtual_nodes: 0, fallback_replicas: 1.5,"
                    + " load_factor: x, choices: 3}}"))
        .hasSize(4)
        .anyMatch(it -> it.contains("virtual_nodes: 0 (expected: an integer from 1 to 1000)"))
        .anyMatch(
            it -> it.contains("fallback_replicas: 1.5, a number with a fraction (expected: an"))
        .anyMatch(
            it -> it.contains("load_factor: \"x\", a string (expected: a number from 1 to 100)"))
        .anyMatch(it -> it.contains("choices: unknown key"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{request_router_class: fastest} | power_of_two, least_requests",
        "{request_router_class: ray.serve.x:UnknownRouter} | power_of_two, least_requests",
        "{request_router_kwargs: {berth.router: fastest}} | power_of_two, least_requests",
        "{request_router_kwargs: {prefer_local_node: 1}} | true or false",
        "{request_router_class: round_robin, request_router_kwargs: {a: 1}} | unknown key",
        "{request_router_class: least_latency, request_router_kwargs: {decay_s: 0}} | 0.001 to 3600"
      })
  void whatIsWrongIsRefused(String config, String expected) {
    assertThat(Yaml.deploymentProblems("request_router_config: " + config))
        .singleElement()
        .asString()
        .contains(expected);
  }
}
