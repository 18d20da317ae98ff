package dev.berth.cli;

import java.lang.reflect.Proxy;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * SIGTERM and SIGINT: the first asks to stop, the second ends the process at once.
 *
 * <p>A JVM that has begun its shutdown hooks hears no second signal, so the drain must not run in
 * one: the signals are taken over, through {@code sun.misc.Signal}, which every JDK from 17 to 25
 * has. It is called by reflection, because javac warns of it in a way no annotation silences. Where
 * the JVM keeps the signals to itself ({@code -Xrs}), they end the process without a drain, and a
 * warning says so at the start.
 */
final class StopSignals {

  private static final Logger LOG = LoggerFactory.getLogger(StopSignals.class);

  private final CompletableFuture<String> first = new CompletableFuture<>();
  private final IntConsumer halt;

  /**
   * @param halt ends the process with an exit code, at once
   */
  StopSignals(IntConsumer halt) {
    this.halt = halt;
  }

  /** Takes the two signals over for the rest of the process's life. */
  static CompletionStage<String> install() {
    StopSignals signals = new StopSignals(Runtime.getRuntime()::halt);
    signals.listen("TERM", 15);
    signals.listen("INT", 2);
    return signals.first();
  }

  /** Gives the name of the first signal, as in {@code SIGTERM}. */
  CompletionStage<String> first() {
    return first;
  }

  /** Called for each signal, on a thread of its own. */
  void received(String name, int number) {
    if (!first.complete("SIG" + name)) {
      halt.accept(128 + number); // the shell's code for a process ended by that signal
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
                  received(name, number);
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
