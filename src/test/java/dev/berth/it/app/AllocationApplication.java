package dev.berth.it.app;

import com.sun.management.ThreadMXBean;
import dev.berth.api.Application;
import dev.berth.api.Deployment;
import dev.berth.api.Response;
import io.vertx.core.Future;
import io.vertx.core.buffer.Buffer;
import java.lang.management.ManagementFactory;

/** A handler that does nothing, and one that tells what its event loop has allocated. */
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
