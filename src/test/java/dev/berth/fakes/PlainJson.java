package dev.berth.fakes;

import io.vertx.core.json.jackson.JacksonCodec;
import io.vertx.core.spi.JsonFactory;
import io.vertx.core.spi.json.JsonCodec;

/** The JSON of Vert.x as the server has it: without the databind that only tests bring. */
public final class PlainJson implements JsonFactory {
  @Override
  public int order() {
    return 0;
  }

  @Override
  public JsonCodec codec() {
    return new JacksonCodec();
  }
}
