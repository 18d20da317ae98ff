package dev.berth.ingress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.berth.admin.AdminVerticle;
import dev.berth.admin.EndpointRoutes;
import dev.berth.config.AdminOptions;
import dev.berth.config.ServeConfig;
import dev.berth.ingress.FakeUpstream.Call;
import dev.berth.metrics.Meters;
import dev.berth.protocol.port.Endpoint;
import io.vertx.core.Promise;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A client that shuts down its sending half counts as gone, on both ports ({@code http.md}). */
class HalfClosedIT {
  @AutoClose private IngressRig rig;

  @BeforeEach
  void start() throws Exception {
    rig = new IngressRig(IngressRig.LOCAL).route("/");
  }

  @Test
  void halfClosedConnectionCancelsItsRequest() throws Exception {
    RawClient raw = rig.raw().get("/");
    Call call = rig.upstream.nextCall();
    raw.shutDownOutput();
    assertThat(call.cancelledWithin(10)).isTrue();
    assertThat(raw.readToEnd()).isEmpty();
  }

  @Test
  void halfClosedAdminConnectionIsClosedWithoutAnAnswer() throws Exception {
    CountDownLatch asked = new CountDownLatch(1);
    Promise<Endpoint.EndpointResponse> never = Promise.promise();
    AdminVerticle admin =
        new AdminVerticle(
            ServeConfig.DEFAULTS.with(AdminOptions.PORT, 0),
            new Meters("node-1", "127.0.0.1", "", false),
            List.of(
                new EndpointRoutes(
                    "/",
                    request ->
                        () -> {
                          asked.countDown();
                          return never.future();
                        })));
    IngressRig.await(rig.vertx.deployVerticle(admin));
    try (RawClient raw = new RawClient(admin.port())) {
      raw.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
      assertThat(asked.await(10, TimeUnit.SECONDS)).isTrue();
      raw.shutDownOutput();
      assertThat(raw.readToEnd()).isEmpty();
    }
  }
}
