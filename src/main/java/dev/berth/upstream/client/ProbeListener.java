package dev.berth.upstream.client;

import dev.berth.api.Headers;
import io.vertx.core.buffer.Buffer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The end of a probe, which its first event determines. */
final class ProbeListener implements ExchangeListener {
  @Nullable UpstreamExchange exchange;
  private @Nullable Consumer<@Nullable String> done;

  ProbeListener(Consumer<@Nullable String> done) {
    this.done = done;
  }

  private void finish(@Nullable String problem) {
    Consumer<@Nullable String> receiver = done;
    done = null;
    if (receiver != null) {
      receiver.accept(problem);
    }
  }

  @Override
  public void onHead(int status, Headers headers) {
    if (exchange != null) {
      exchange.cancel(0);
    }
    finish(status < 400 ? null : "status " + status);
  }

  @Override
  public void onPiece(Buffer piece) {}

  @Override
  public void onEnd() {
    finish(null);
  }

  @Override
  public void onFailed(UpstreamFailure failure) {
    finish(failure.reason());
  }

  @Override
  public void onCancelled(boolean confirmed) {}
}
