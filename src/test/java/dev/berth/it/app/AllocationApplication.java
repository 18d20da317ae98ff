package dev.berth.it.app;

import com.sun.management.ThreadMXBean;
import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.Promise;
import io.vertx.core.buffer.Buffer;
import java.lang.management.ManagementFactory;

/** Handlers of AllocationIT, and one that reports the bytes that its event loop has allocated. */
public final class AllocationApplication {
  private AllocationApplication() {}

  /** Answers at once with 32 bytes. */
  public static Application noOp() {
    Buffer body = Buffer.buffer("twenty-two characters no-op done");
    return Application.of(
        Deployment.async(
                "no-op",
                (request, context) -> Future.succeededFuture(Response.of(200, "text/plain", body)))
            .withMaxOngoingRequests(1000));
  }

  /** Streams 100 chunks of 16 bytes in one tick. */
  public static Application stream() {
    Buffer event = Buffer.buffer("data: 123456789\n");
    return Application.of(
        Deployment.async(
                "stream",
                (request, context) ->
                    Future.succeededFuture(
                        Response.stream(
                            "text/event-stream",
                            writer -> {
                              Future<Void> written = Future.succeededFuture();
                              for (int i = 0; i < 100; i++) {
                                written = writer.write(event);
                              }
                              return written;
                            })))
            .withMaxOngoingRequests(1000));
  }

  /** Answers with the length of the request's body. */
  public static Application upload() {
    return Application.of(
        Deployment.async(
                "upload",
                (request, context) ->
                    Future.succeededFuture(
                        Response.text(Integer.toString(request.bytes().length()))))
            .withMaxOngoingRequests(1000));
  }

  /** Never answers, so that its first two requests hold the only slot and the queue. */
  public static Application full() {
    return Application.of(
        Deployment.async("full", (request, context) -> Promise.<Response>promise().future())
            .withMaxOngoingRequests(1));
  }

  /** A request of the typed handler. */
  public record Tree(String name, int count) {}

  /** Answers with the tree after it. */
  public static Application typed() {
    return Application.of(
        Deployment.async(
                "typed",
                Tree.class,
                (tree, context) -> Future.succeededFuture(new Tree(tree.name(), tree.count() + 1)))
            .withMaxOngoingRequests(1000));
  }

  /** Answers with the bytes that its thread has allocated since it began. */
  public static Application allocated() {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    return Application.of(
        Deployment.async(
            "allocated",
            (request, context) ->
                Future.succeededFuture(
                    Response.text(
                        Long.toString(
                            threads.getThreadAllocatedBytes(Thread.currentThread().getId()))))));
  }
}
