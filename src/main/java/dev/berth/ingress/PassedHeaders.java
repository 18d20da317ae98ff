package dev.berth.ingress;

import io.vertx.core.MultiMap;
import java.util.function.BiConsumer;

/**
 * Takes over the headers of a handler's response, but for those that its {@code Connection} header
 * names: they are not for the client.
 */
record PassedHeaders(String namedByConnection, MultiMap out) implements BiConsumer<String, String> {
  @Override
  public void accept(String name, String value) {
    if (!HopByHop.isDropped(name) && !HopByHop.isNamedBy(namedByConnection, name)) {
      out.add(name, value);
    }
  }
}
