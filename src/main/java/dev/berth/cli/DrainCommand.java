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
    header = "Has an instance finish what it accepted, and end.",
    description = {
      "As SIGTERM does: no new connections, requests under way and leases finish, at most"
          + " berth.shutdown_timeout_s of the instance. What is deployed stays deployed: it runs"
          + " again when the instance is started again."
    },
    exitCodeList = {
      "0:the drain began; with --wait, the instance has ended",
      "1:refused",
      "4:with --wait, the instance has not ended in time"
    },
    footer = {"  berth drain", "  berth drain --wait --timeout-s 40"})
final class DrainCommand extends ChangeCommand {
  @Override
  void run(PrintWriter out) throws InterruptedException {
    AdminServer.Answer response = server.send("POST", "/api/v1/drain", null);
    if (response.statusCode() != HTTP_ACCEPTED && response.statusCode() != 200) {
      throw server.refusal(response);
    }
    if (!json) {
      out.println(server.address() + ": drains");
      out.flush();
    }
    Boolean gone = wait ? poll(this::isGone) : null;
    if (Boolean.TRUE.equals(gone) && !json) {
      out.println("It has ended.");
    }
    endDrain(gone, new JsonObject(), "it answers");
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
