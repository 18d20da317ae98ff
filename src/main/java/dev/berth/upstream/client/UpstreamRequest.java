package dev.berth.upstream.client;

import dev.berth.api.Headers;

/**
 * The head of a request. The client adds {@code host}, {@code content-length} and {@code
 * transfer-encoding}, and drops these and {@code connection} from the headers.
 *
 * @param pathAndQuery target in origin-form
 * @param bodyLength bytes of a streamed body, {@link #CHUNKED} if unknown; ignored for a whole body
 */
public record UpstreamRequest(
    String method, String pathAndQuery, Headers headers, long bodyLength) {
  /** Length of a body that ends with its last chunk. */
  public static final long CHUNKED = -1;
}
