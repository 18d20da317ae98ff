package dev.berth.net.http;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** The comparison of {@link RequestEndsTest} on bytes that Jazzer finds; profile {@code fuzz}. */
public final class RequestEndsFuzzer {
  private static final int MAX_BYTES = 2_000; // less than any limit of a line or a head

  private static final DecodedRequests DECODED = new DecodedRequests();

  private RequestEndsFuzzer() {}

  /** Compares one connection: as it is, or as made of choices. Called by Jazzer. */
  public static void fuzzerTestOneInput(byte[] data) {
    if (data.length == 0 || data.length > MAX_BYTES) {
      return;
    }
    byte[] rest = Arrays.copyOfRange(data, 1, data.length);
    RequestEnds.compare(
        data[0] < 0 ? RequestGrammar.of(rest) : new String(rest, StandardCharsets.ISO_8859_1),
        DECODED);
  }
}
