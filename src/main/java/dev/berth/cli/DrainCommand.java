package dev.berth.cli;

import static java.net.HttpURLConnection.HTTP_ACCEPTED;

import io.vertx.core.json.JsonObject;
import java.io.IOException;
import java.io.PrintWriter;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;

/** Command {@code berth drain}: drains an instance, which then ends. */
@Command(
    name = "drain",
    header = "Drains an instance and stops it.",
    description = {
      "Acts as SIGTERM: closes the listeners, then waits for accepted requests and leases for at"
          + " most berth.shutdown_timeout_s. Applications stay deployed and run again after the"
          + " next start."
    },
    exitCodeList = {
      "0:the drain began; with --wait, the instance has ended",
      "1:refused",
      "4:with --wait: the instance has not ended in time"
    },
    footer = {"  berth drain", "  berth drain --wait --timeout-s 40"})
final class DrainCommand extends MutatingCommand {
  @Override
  void run(PrintWriter out) throws InterruptedException {
    AdminHttpClient.AdminHttpReply response = server.send("POST", "/api/v1/drain", null);
    if (response.statusCode() != HTTP_ACCEPTED && response.statusCode() != 200) {
      throw server.refusal(response);
    }
    if (!json) {
      out.println(server.address + ": draining");
      out.flush();
    }
    Boolean gone = wait ? poll(this::isGone) : null;
    if (Boolean.TRUE.equals(gone) && !json) {
      out.println("The instance has ended.");
    }
    endDrain(gone, new JsonObject(), "the instance responds");
  }

  /** Returns whether the admin server, which stops last, has ended; null to poll again. */
  private @Nullable Boolean isGone(boolean late) throws InterruptedException {
    try {
      server.look("/-/healthz");
      return late ? false : null;
    } catch (IOException gone) {
      return true;
    }
  }
}
