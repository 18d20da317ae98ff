package dev.berth.routing;

import dev.berth.fakes.Effort;
import dev.berth.fakes.Interleavings;
import java.util.List;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jetbrains.lincheck.datastructures.Param;
import org.jetbrains.lincheck.datastructures.ThreadIdGen;
import org.jetbrains.lincheck.datastructures.Validate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Whole requests through the real router, under every interleaving that Lincheck tries of an
 * arrival, a completion and a cancel on different loops: the order of steps in a request, which
 * tests of the queue alone cannot see.
 */
@Tag("lincheck")
class RouterLincheckTest {

  @Test
  void aRequestThatArrivesWhileASlotComesFreeIsNotForgotten() {
    Interleavings.options()
        .iterations(0)
        .invocationsPerIteration(Effort.times(100))
        .sequentialSpecification(AnythingGoes.class)
        .addCustomScenario(
            Interleavings.scenario(
                RouterOperations.class, "call 0", List.of("complete 0", "call 1"), ""))
        .addCustomScenario(
            Interleavings.scenario(
                RouterOperations.class,
                "call 0, call 1",
                List.of("complete 0", "cancel 1", "call 2"),
                ""))
        .check(RouterOperations.class);
  }

  /** Each loop has one call at most. */
  @Param(name = "loop", gen = ThreadIdGen.class)
  public static class RouterOperations {
    private final OneReplicaWorld world = new OneReplicaWorld(3);
    private final @Nullable RoutedCall[] calls = new RoutedCall[3];

    @Operation
    public void call(@Param(name = "loop") int loop) {
      calls[loop] = world.call(loop);
    }

    /** The running request's handler is done. */
    @Operation
    public void complete(@Param(name = "loop") int loop) {
      world.completeSlot();
    }

    @Operation
    public void cancel(@Param(name = "loop") int loop) {
      calls[loop].cancel();
    }

    @Validate
    public void nobodyWaitsBesideAFreeSlot() {
      world.nobodyWaitsBesideAFreeSlot();
      world.respondFirst();
      world.finish();
      world.assertAtRest();
    }
  }

  /** Operations return nothing; what counts is the state they leave. */
  public static class AnythingGoes {
    public void call(int loop) {}

    public void complete(int loop) {}

    public void cancel(int loop) {}
  }
}
