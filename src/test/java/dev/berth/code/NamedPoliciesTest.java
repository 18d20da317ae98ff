package dev.berth.code;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.berth.api.spi.AutoscalingPolicy;
import dev.berth.config.ConfigException;
import dev.berth.config.ConfigReader;
import dev.berth.config.ServeConfig;
import dev.berth.config.keys.ConfigProblem;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NamedPoliciesTest {
  private static final String HERE = "dev.berth.code.NamedPoliciesTest$";

  /** One that takes nothing. */
  public static class Plain implements AutoscalingPolicy {
    @Override
    public Answer decide(Context context) {
      throw new AssertionError("it is looked at only");
    }
  }

  /** One that takes its arguments. */
  public static class Given extends Plain {
    public Given(Map<String, @Nullable Object> kwargs) {
      throw new AssertionError("it is not made yet");
    }
  }

  /** One that cannot be made. */
  public abstract static class Abstract extends Plain {}

  /** One that only its own package can make. */
  static class Hidden extends Plain {}

  /** One that wants something else. */
  public static class Greedy extends Plain {
    public Greedy(String text) {}
  }

  private static List<String> problems(String lines) {
    String text =
        "applications:\n- {name: a, import_path: 'dev.berth.node.TestApplications:plain',\n"
            + lines.replace("HERE", HERE)
            + "}\n";
    ServeConfig file = ConfigReader.read("test.yaml", Path.of("."), text);
    ConfigException refused =
        catchThrowableOfType(
            ConfigException.class, () -> ApplicationCode.find(file.applications().get(0)).close());
    return refused == null
        ? List.of()
        : refused.problems().stream().map(ConfigProblem::toString).toList();
  }

  private static List<String> ofDeployment(String policy) {
    return problems("deployments: [{name: back, autoscaling_config: {policy: {" + policy + "}}}]");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "Plain    | {}     |",
        "Given    | {}     |",
        "Given    | {a: 1} |",
        "Plain    | {a: 1} | cannot be instantiated",
        "Abstract | {}     | cannot be instantiated",
        "Hidden   | {}     | cannot be instantiated",
        "Greedy   | {}     | cannot be instantiated",
        "Nobody   | {}     | no such class"
      })
  void aPolicyThatWouldNotDoIsNamedAtItsPlace(
      String name, String arguments, @Nullable String wrong) {
    List<String> problems =
        ofDeployment("policy_function: HERE" + name + ", policy_kwargs: " + arguments);

    if (wrong == null) {
      assertThat(problems).isEmpty();
    } else {
      assertThat(problems)
          .singleElement()
          .asString()
          .startsWith(
              "test.yaml:3:75: applications[0].deployments[0].autoscaling_config.policy"
                  + ".policy_function: "
                  + HERE
                  + name
                  + ": "
                  + wrong
                  + " (expected: a public class that implements dev.berth.api.spi.");
    }
  }

  @Test
  void everyPolicyIsLookedAtOfTheApplicationToo() {
    List<String> problems =
        problems(
            "autoscaling_policy: {policy_function: java.lang.String},\n"
                + "deployments: [{name: front, autoscaling_config: {policy:"
                + " {policy_function: com.acme.Nobody}}}, {name: back}]");

    assertThat(problems)
        .hasSize(2)
        .element(0)
        .asString()
        .startsWith(
            "test.yaml:3:39: applications[0].autoscaling_policy.policy_function:"
                + " java.lang.String: no AutoscalingPolicy (expected: ");
    assertThat(problems.get(1)).startsWith("test.yaml:4:").contains("Nobody: no such class");
  }

  @Test
  void thatOfRayServeIsNoClass() {
    assertThat(
            ofDeployment(
                "policy_function: 'ray.serve.autoscaling_policy:default_autoscaling_policy'"))
        .isEmpty();
  }
}
