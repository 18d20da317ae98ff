package dev.berth.protocol.port;

import dev.berth.api.Response;

/**
 * A producer that knows the length of its body. It writes exactly as many bytes or fails, except
 * for a request of HEAD or a status without a body, when it writes none.
 */
public interface SizedProducer extends Response.Producer {
  /** Returns the number of bytes for the head of the client's response; -1 for unknown. */
  long length();
}
