package dev.berth.upstream.client;

import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.internal.ContextInternal;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The connections to one upstream. Confined to one event loop. */
public final class UpstreamClient {
  private final ContextInternal loop;
  private UpstreamTarget target;

  public UpstreamClient(ContextInternal loop, UpstreamTarget target) {
    this.loop = loop;
    this.target = target;
  }

  /**
   * Starts an exchange, on an idle connection or a new one. Never calls the listener within this
   * call.
   *
   * @param whole the complete body; null if the body is streamed
   * @throws IllegalArgumentException if a part of the head has an illegal character
   */
  public UpstreamExchange send(
      UpstreamRequest head, @Nullable Buffer whole, ExchangeListener listener) {
    throw new UnsupportedOperationException(loop + " " + target);
  }

  /** Sets the target of later exchanges. Idle connections of another target close. */
  public void retarget(UpstreamTarget next) {
    target = next;
  }

  /**
   * Checks the upstream on a connection of its own, outside the limit of connections.
   *
   * @param path of a GET with a status of 2xx or 3xx; null for a mere connect
   * @param done receives null if the upstream is well, else the reason
   */
  public void probe(@Nullable String path, long timeoutNanos, Consumer<@Nullable String> done) {
    throw new UnsupportedOperationException();
  }

  /** Resets all connections. Their exchanges fail. */
  public Future<Void> close() {
    throw new UnsupportedOperationException();
  }
}
