package dev.berth.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.berth.api.Application;
import dev.berth.api.AsyncHandler;
import dev.berth.api.BerthException;
import dev.berth.api.Deployment;
import dev.berth.api.DeploymentHandle;
import dev.berth.api.ReplicaSelection;
import dev.berth.api.Request;
import dev.berth.api.Response;
import io.vertx.core.Future;
import java.io.IOException;
import java.util.List;
import java.util.OptionalInt;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What Ray Serve's local testing mode does; {@link ChooseInATestTest} has what it lacks.
 *
 * <p>Source: the cases of Ray's test_local_testing_mode.py. References to objects have no
 * counterpart here; a second deploy of an application comes with Lifecycle.
 */
class LocalTestingModeTest {
  @AutoClose private TestBerth berth;

  private static Application greeting(String theirs, String ours) {
    return Application.of(
        Deployment.of(
            "outer",
            replica -> {
              if (theirs.isEmpty()) {
                throw new IllegalStateException("Exception in outer constructor.");
              }
              DeploymentHandle inner = replica.handle("inner");
              return (AsyncHandler)
                  (request, context) ->
                      inner
                          .call(Request.get("/"))
                          .compose(answer -> answer.bytes(1_000))
                          .map(
                              name ->
                                  "Hello %s from %s and %s!"
                                      .formatted(request.path().substring(1), theirs, name))
                          .map(Response::text);
            }),
        Deployment.of(
            "inner",
            replica -> {
              if (ours.isEmpty()) {
                throw new IllegalStateException("Exception in inner constructor.");
              }
              return (AsyncHandler) (request, context) -> Apps.text(ours);
            }));
  }

  @Test
  void deploymentsAreComposed() {
    berth = TestBerth.start(greeting("Theodore", "Kevin"));
    assertThat(berth.text(berth.call(Request.get("/Edith"))))
        .isEqualTo("Hello Edith from Theodore and Kevin!");
    assertThat(berth.ledger("inner").completed()).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"inner", "outer"})
  void anExceptionOfAConstructorIsRaisedAtTheStart(String deployment) {
    Application application =
        greeting(deployment.equals("outer") ? "" : "A", deployment.equals("inner") ? "" : "B");
    assertThatThrownBy(() -> TestBerth.start(application))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("Exception in " + deployment + " constructor.")
        .hasRootCauseMessage("Exception in " + deployment + " constructor.");
  }

  @Test
  void loggingCanBeConfiguredWithoutHarm() {
    berth = TestBerth.of(Apps.echo()).set("one", "logging_config.log_level", "WARNING").start();
    assertThat(berth.text(berth.call(Request.get("/x")))).isEqualTo("/x");
  }

  /** Whether the call comes from the test, from a handler, or on a slot held before. */
  @Test
  void whatAHandlerThrowsIsTheAnswerOfItsCaller() {
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    AtomicReference<Throwable> seen = new AtomicReference<>();
    Application application =
        Application.of(
            Deployment.of(
                "outer",
                replica -> {
                  DeploymentHandle inner = replica.handle("inner");
                  return (AsyncHandler)
                      (request, context) -> inner.call(request).onFailure(seen::set);
                }),
            Deployment.async(
                "inner",
                (request, context) -> {
                  if (thrown.get() instanceof RuntimeException unchecked) {
                    throw unchecked;
                  }
                  return Future.failedFuture(thrown.get());
                }));
    berth = TestBerth.start(application);
    thrown.set(
        new BerthException.BackPressure("come back", OptionalInt.of(7), OptionalInt.of(429)));
    Throwable failure = berth.awaitFailure(berth.handle("outer").call(Request.get("/")));
    for (Throwable told : List.of(seen.get(), failure)) {
      assertThat(told)
          .isInstanceOfSatisfying(
              BerthException.BackPressure.class,
              full -> assertThat(full.retryAfterSeconds()).hasValue(7))
          .hasMessage("come back");
    }
    for (Throwable bug : List.of(new IllegalStateException("secret"), new IOException("secret"))) {
      thrown.set(bug);
      berth.awaitFailure(berth.handle("outer").call(Request.get("/")));
      ReplicaSelection held = berth.await(berth.handle("inner").choose());
      Throwable dispatched = berth.awaitFailure(held.dispatch(Request.get("/")));
      for (Throwable told : List.of(seen.get(), dispatched)) {
        assertThat(told)
            .isInstanceOf(BerthException.HandlerFailed.class)
            .hasMessageContaining(held.replicaId())
            .hasMessageNotContaining("secret");
      }
    }
    assertThat(berth.ledger("inner").atRest()).isTrue();
    assertThat(berth.ledger("outer").atRest()).isTrue();
  }
}
