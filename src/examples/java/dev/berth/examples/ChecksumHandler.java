package dev.berth.examples;

import dev.berth.api.AsyncHandler;
import dev.berth.api.Request;
import dev.berth.api.RequestContext;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import java.util.zip.CRC32;

/**
 * A handler for bodies of any size: it reads each chunk on arrival and responds with length and
 * checksum.
 */
final class ChecksumHandler implements AsyncHandler {
  @Override
  public boolean streamsRequests() {
    return true;
  }

  @Override
  public Future<Response> handle(Request request, RequestContext context) {
    Promise<Response> answer = Promise.promise();
    CRC32 checksum = new CRC32();
    long[] bytes = {0};
    request.stream()
        .exceptionHandler(answer::tryFail) // client disconnect or timeout
        .endHandler(
            end ->
                answer.tryComplete(
                    Response.text(
                        "%d bytes, crc32 %08x%n".formatted(bytes[0], checksum.getValue()))))
        .handler(
            piece -> {
              bytes[0] += piece.length();
              checksum.update(piece.getBytes());
            })
        .resume();
    return answer.future();
  }
}
