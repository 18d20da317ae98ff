package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import org.junit.jupiter.api.Test;

class QuickstartTest {

  @Test
  void classifyIsTheIngressOfTwoDeployments() {
    Application application = Quickstart.classify();
    assertThat(application.ingress()).isEqualTo("classify");
    assertThat(application.deployments())
        .extracting(Deployment::name)
        .containsExactly("classify", "digits");
    Deployment digits = application.deployments().get(1);
    assertThat(digits.numReplicas()).isEqualTo(2);
    assertThat(digits.maxOngoingRequests()).isEqualTo(16);
  }

  @Test
  void echoIsSpreadOverTheLoops() {
    Application application = Quickstart.echo();
    assertThat(application.ingress()).isEqualTo("echo");
    assertThat(application.deployments())
        .singleElement()
        .satisfies(echo -> assertThat(echo.spreadOverLoops()).isTrue());
  }

  @Test
  void streamIsOneDeployment() {
    assertThat(Quickstart.stream().ingress()).isEqualTo("stream");
    assertThat(Quickstart.stream().deployments()).hasSize(1);
  }
}
