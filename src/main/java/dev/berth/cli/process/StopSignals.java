package dev.berth.cli.process;

import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Handler of SIGTERM and SIGINT: the first signal stops the node, the second ends the process at
 * once.
 *
 * <p>A JVM that runs its shutdown hooks receives no second signal, so the drain must not run in a
 * hook. The handler uses {@code sun.misc.Signal}, which every JDK from 17 to 25 has. The call uses
 * reflection, because no annotation suppresses javac's warning about the class.
 *
 * <p><b>Failure.</b> If the JVM reserves the signals ({@code -Xrs}), they end the process without a
 * drain, and the start logs a warning.
 */
public final class StopSignals {

  private static final Logger LOG = LoggerFactory.getLogger(StopSignals.class);

  private final CompletableFuture<String> first = new CompletableFuture<>();
  private final IntConsumer halt;

  /**
   * @param halt ends the process at once with an exit code
   */
  StopSignals(IntConsumer halt) {
    this.halt = halt;
  }

  /** Installs the handler of both signals until the process ends. */
  public static CompletionStage<String> install() {
    StopSignals signals = new StopSignals(Runtime.getRuntime()::halt);
    signals.listen("TERM", 15);
    signals.listen("INT", 2);
    return signals.first();
  }

  /** Returns a stage that completes with the name of the first signal, as {@code SIGTERM}. */
  CompletionStage<String> first() {
    return first;
  }

  /** Handles a signal. Called on a new thread for each signal. */
  void onSignal(String name, int number) {
    if (!first.complete("SIG" + name)) {
      halt.accept(128 + number); // as shells report a process that this signal ended
    }
  }

  private void listen(String name, int number) {
    try {
      Class<?> signal = Class.forName("sun.misc.Signal");
      Class<?> handler = Class.forName("sun.misc.SignalHandler");
      Object proxy =
          Proxy.newProxyInstance(
              handler.getClassLoader(),
              new Class<?>[] {handler},
              (self, method, arguments) -> {
                if (method.getName().equals("handle")) {
                  onSignal(name, number);
                }
                return null;
              });
      Object instance = signal.getConstructor(String.class).newInstance(name);
      signal.getMethod("handle", signal, handler).invoke(null, instance, proxy);
    } catch (ReflectiveOperationException refused) {
      Throwable why = refused.getCause() == null ? refused : refused.getCause();
      LOG.warn("SIG{} will not drain: {}", name, why.toString());
    }
  }
}
