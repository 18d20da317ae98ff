package dev.berth.protocol.port;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.DeploymentId;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ModelHeaderTest {
  @ParameterizedTest
  @ValueSource(strings = {"d", "a b", "a;b=c", "x=", "\u00e4\u00f6", "10-14"})
  void nameOfAnyDeploymentIsFound(String deployment) {
    DeploymentId id = new DeploymentId("app", deployment);
    String parts =
        ModelHeader.part(new DeploymentId("app", "first"), "x;".replace(";", ""))
            + ModelHeader.part(id, "gpt-4o:ft=1")
            + ModelHeader.part(new DeploymentId("app", deployment + "2"), "y");
    String value = ModelHeader.value(10, 14, parts);
    assertThat(value).matches("[ -~]+");
    assertThat(ModelHeader.read(value, id)).isEqualTo(new ModelHeader(10, 14, "gpt-4o:ft=1"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "10", "10-", "-14;d=x", "10-14,d=x", "20-14;d=x", "0-14;d=x", " 1-2"})
  void invalidValueIsNoHeader(String value) {
    assertThat(ModelHeader.read(value, new DeploymentId("a", "d"))).isNull();
  }
}
