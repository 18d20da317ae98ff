package dev.berth.ingress;

import io.vertx.core.MultiMap;
import io.vertx.core.http.HttpHeaders;

/** What a client's {@code Expect} header asks for. */
final class Expectation {
  private static final CharSequence EXPECT = HttpHeaders.createOptimized("expect");
  private static final String CONTINUE = "100-continue";

  private Expectation() {}

  /** It waits to be told to go on. */
  static boolean isContinue(MultiMap headers) {
    return headers.contains(EXPECT, CONTINUE, true);
  }

  /** It asks for what is not done here. */
  static boolean isAnythingElse(MultiMap headers) {
    String expect = headers.get(EXPECT);
    return expect != null && !expect.trim().equalsIgnoreCase(CONTINUE);
  }
}
