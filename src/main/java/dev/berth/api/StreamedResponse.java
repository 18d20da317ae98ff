package dev.berth.api;

import io.vertx.core.buffer.Buffer;
import io.vertx.core.streams.ReadStream;

/**
 * A response whose body is read as it arrives, whatever its size: a body that came whole is a
 * stream of one piece, and an empty one of none.
 *
 * @param status an HTTP status, 200 to 599
 * @param headers as the handler gave them
 * @param body belongs to the context of the handle; paused until a handler is set. Read to its end,
 *     or cancelled. Fails with a {@link BerthException} when it is cut short.
 * @param cancel ends the body; its request is cancelled at the replica
 */
public record StreamedResponse(
    int status, Headers headers, ReadStream<Buffer> body, Runnable cancel) {}
