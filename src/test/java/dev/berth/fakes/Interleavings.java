package dev.berth.fakes;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jetbrains.kotlinx.lincheck.Actor;
import org.jetbrains.kotlinx.lincheck.execution.ExecutionScenario;
import org.jetbrains.lincheck.datastructures.ManagedStrategyGuaranteeKt;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Validate;

/** What every test by Lincheck's model checker begins with. */
public final class Interleavings {
  /**
   * Lincheck sees a deadlock or a livelock by what the threads do, and so at any speed. Beside that
   * it gives one invocation 30 s of wall time, of which the first, in which classes are loaded and
   * instrumented, needs most on a machine with much other work. This is for a thread that is stuck
   * where Lincheck does not see it.
   */
  private static final long STUCK_MS = TimeUnit.MINUTES.toMillis(10);

  private Interleavings() {}

  /** The JDK's collections and counters are taken to be atomic: it is ours that are tried. */
  public static ModelCheckingOptions options() {
    return new ModelCheckingOptions()
        .invocationTimeout$lincheck(STUCK_MS)
        .addGuarantee(
            ManagedStrategyGuaranteeKt.forClasses(
                    "java.util.concurrent.ConcurrentHashMap",
                    "java.util.concurrent.ConcurrentHashMap$KeySetView",
                    "java.util.concurrent.ConcurrentLinkedQueue",
                    "java.util.concurrent.atomic.LongAdder",
                    "java.util.SplittableRandom")
                .allMethods()
                .treatAsAtomic());
  }

  /** What is done before, by each thread and after; "operation argument, …", or nothing. */
  public static ExecutionScenario scenario(
      Class<?> operations, String before, List<String> threads, String after) {
    Actor validation =
        Stream.of(operations.getMethods())
            .filter(method -> method.isAnnotationPresent(Validate.class))
            .findFirst()
            .map(method -> new Actor(method, List.of()))
            .orElse(null);
    return new ExecutionScenario(
        actors(operations, before),
        threads.stream().map(steps -> actors(operations, steps)).toList(),
        actors(operations, after),
        validation);
  }

  private static List<Actor> actors(Class<?> operations, String steps) {
    return Stream.of(steps.split(", "))
        .filter(step -> !step.isEmpty())
        .map(step -> actor(operations, step.split(" ")))
        .toList();
  }

  private static Actor actor(Class<?> operations, String... words) {
    try {
      return words.length == 1
          ? new Actor(operations.getMethod(words[0]), List.of())
          : new Actor(
              operations.getMethod(words[0], int.class), List.of(Integer.valueOf(words[1])));
    } catch (NoSuchMethodException e) {
      throw new AssertionError(e);
    }
  }
}
