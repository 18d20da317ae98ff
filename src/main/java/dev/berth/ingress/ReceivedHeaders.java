package dev.berth.ingress;

import dev.berth.api.Headers;
import io.vertx.core.MultiMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Headers of a received request, without a copy. Immutable after receipt, so other threads may read
 * them.
 */
record ReceivedHeaders(MultiMap received) implements Headers {

  /** Reusable counter of headers, which does not allocate. */
  static final class HeaderCounter implements Consumer<Map.Entry<String, String>> {
    private int count;

    int of(MultiMap headers) {
      count = 0;
      headers.forEach((Consumer<Map.Entry<String, String>>) this);
      return count;
    }

    @Override
    public void accept(Map.Entry<String, String> each) {
      count++;
    }
  }

  @Override
  public @Nullable String get(String name) {
    return received.get(name);
  }

  @Override
  public void forEach(BiConsumer<String, String> each) {
    for (Map.Entry<String, String> header : received) {
      each.accept(header.getKey(), header.getValue());
    }
  }

  /** Counts the pairs, since the received map counts names. */
  @Override
  public int size() {
    return new HeaderCounter().of(received);
  }

  @Override
  public List<String> all(String name) {
    return received.getAll(name);
  }

  @Override
  public String toString() {
    return "Headers" + received.names(); // names only: values may be secrets
  }
}
