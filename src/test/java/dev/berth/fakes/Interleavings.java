package dev.berth.fakes;

import java.util.concurrent.TimeUnit;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;

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

  public static ModelCheckingOptions options() {
    return new ModelCheckingOptions().invocationTimeout$lincheck(STUCK_MS);
  }
}
