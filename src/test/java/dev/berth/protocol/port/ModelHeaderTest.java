package dev.berth.protocol.port;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ModelHeaderTest {
  @ParameterizedTest
  @ValueSource(strings = {"d", "a b", "a;b=c", "x=", "\u00e4\u00f6", "10-14"})
  void nameOfAnyDeploymentIsFound(String deployment) {
    DeploymentId id = new DeploymentId("app", deployment);
    String parts =
        ModelHeader.part(new DeploymentId("app", "first"), "x")
            + ModelHeader.part(id, "gpt-4o:ft=1")
            + ModelHeader.part(new DeploymentId("app", deployment + "2"), "y");
    String value = ModelHeader.value(10, 14, parts);
    assertThat(value).matches("[ -~]+");
    assertThat(ModelHeader.read(value, id)).isEqualTo(new ModelHeader(10, 14, "gpt-4o:ft=1"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "10",
        "10-",
        "-14;d=x",
        "10-14,d=x",
        "20-14;d=x",
        "0-14;d=x",
        " 1-2",
        "1-3000000000"
      })
  void invalidValueIsNoHeader(String value) {
    assertThat(ModelHeader.read(value, new DeploymentId("a", "d"))).isNull();
  }

  @Test
  void placeMayBeBehindAGigabyte() {
    assertThat(ModelHeader.read("2147483640-2147483647", new DeploymentId("a", "d")))
        .isEqualTo(new ModelHeader(2_147_483_640, 2_147_483_647, null));
  }
}
