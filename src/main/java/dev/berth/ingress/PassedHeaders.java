package dev.berth.ingress;

import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;
import java.util.function.BiConsumer;

/**
 * Takes over the headers of a handler's response, but for those that its {@code Connection} header
 * names: they are not for the client.
 */
record PassedHeaders(String namedByConnection, MultiMap out) implements BiConsumer<String, String> {
  private static final String CONTENT_TYPE = "content-type";

  @Override
  public void accept(String name, String value) {
    if (!HopByHop.isDropped(name) && !HopByHop.isNamedBy(namedByConnection, name)) {
      out.add(nameOf(name), value);
    }
  }

  /**
   * The name as it is best written: what the API itself sets is known as bytes already, and is
   * neither hashed nor written letter by letter.
   */
  static CharSequence nameOf(String name) {
    if (name.isEmpty()) { // Vert.x writes a line that begins with its colon
      throw new IllegalArgumentException("header name: empty (expected: a token)");
    }
    return name.equals(CONTENT_TYPE) ? HttpHeaders.CONTENT_TYPE : name;
  }
}
