package dev.berth.dialect;

import io.vertx.core.buffer.Buffer;

/** Finds the model in a request body, without a tree of the body. */
public final class ModelScanner {
  private ModelScanner() {}

  /**
   * Scans a whole JSON body.
   *
   * @throws DialectProblem with status 400, for a body that names no single model
   */
  public static ScannedBody scan(Buffer body) {
    throw new UnsupportedOperationException();
  }
}
