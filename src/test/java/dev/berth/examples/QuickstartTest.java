package dev.berth.examples;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.DeploymentId;
import dev.berth.api.ReplicaContext;
import dev.berth.api.ReplicaMeters;
import dev.berth.metrics.UserMeters;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class QuickstartTest {

  @Test
  void classifyAsksTheDeploymentOfDigitsInItsApplication() throws Exception {
    Application application = Quickstart.classify();
    assertThat(application.ingress()).isEqualTo("classify");
    assertThat(application.deployments())
        .extracting(Deployment::name)
        .containsExactly("classify", "digits");
    Deployment digits = application.deployments().get(1);
    assertThat(digits.numReplicas()).isEqualTo(2);

    FakeReplica replica = new FakeReplica();
    assertThat(application.deployments().get(0).factory().create(replica))
        .isInstanceOf(ClassifyHandler.class);
    assertThat(replica.asked).containsExactly("digits");
    digits.factory().create(replica).stop();
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

  private static final class FakeReplica implements ReplicaContext {
    final List<String> asked = new ArrayList<>();

    @Override
    public DeploymentId deployment() {
      return new DeploymentId("classify", "classify");
    }

    @Override
    public String replicaId() {
      return "classify#classify#1";
    }

    @Override
    public Map<String, Object> userConfig() {
      return Map.of();
    }

    @Override
    public int maxOngoingRequests() {
      return 1;
    }

    @Override
    public ReplicaMeters meters() {
      return new UserMeters(deployment(), replicaId());
    }

    @Override
    public DeploymentHandle handle(String deployment) {
      asked.add(deployment);
      return new FakeDigits();
    }
  }
}
