package dev.berth.code;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.berth.api.spi.ReplicaRanker;
import dev.berth.config.ConfigException;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import java.nio.file.Path;
import java.util.random.RandomGenerator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NamedRankersTest {

  /** One that takes nothing. */
  public static class Plain implements ReplicaRanker {
    @Override
    public void rank(Candidates all, Asker asker, RandomGenerator random, Ranking ranking) {
      throw new AssertionError("it is looked at only");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "com.acme.Missing, {}, no such class",
    "java.lang.String, {}, no ReplicaRanker",
    "dev.berth.code.NamedRankersTest$Plain, {near: 1}, cannot be instantiated"
  })
  void whatWouldNotDoIsToldWithTheCode(String name, String arguments, String why) {
    assertThat(problem(name, arguments))
        .contains(
            "applications[0].deployments[0].request_router_config.request_router_class: "
                + name
                + ": "
                + why)
        .contains("implements dev.berth.api.spi.ReplicaRanker");
  }

  @ParameterizedTest
  @CsvSource({"dev.berth.code.NamedRankersTest$Plain", "round_robin"})
  void whatDoesIsReadAndNotMade(String name) {
    assertThat(problem(name, "{}")).isEmpty();
  }

  private static String problem(String name, String arguments) {
    String text =
        "applications: [{name: a, import_path: 'dev.berth.node.TestApplications:plain',"
            + " deployments: [{name: front, request_router_config: {request_router_class: '"
            + name
            + "', request_router_kwargs: "
            + arguments
            + "}}]}]";
    ServeConfig file = ConfigReader.read("test.yaml", Path.of("."), text);
    ConfigException refused =
        catchThrowableOfType(
            ConfigException.class, () -> ApplicationCode.find(file.applications().get(0)).close());
    return refused == null ? "" : refused.problems().toString();
  }
}
