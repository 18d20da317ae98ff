package dev.berth.admin;

import dev.berth.config.ExplainOptions;
import dev.berth.config.keys.Settings;
import dev.berth.view.RequestExplanation;
import io.vertx.core.http.HttpHeaders;
import io.vertx.core.json.JsonObject;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.util.List;

/**
 * Serves {@code GET /api/v1/requests}, the last explained requests, and {@code GET
 * /api/v1/requests/{id}/explain}, one of them. The explanation is JSON, or text for {@code Accept:
 * text/plain} or {@code ?format=text}. The id is percent-encoded.
 *
 * @param options settings that explain a missing record
 */
public record ExplainRoutes(ExplainRing ring, Settings options) implements AdminRoutes {
  /**
   * Maximum of records shown per id. Clients choose the ids, and may use one id for all requests.
   */
  static final int MAX_SHOWN = 100;

  private static final int MAX_LISTED = 1_000;
  private static final int LISTED = 50;

  @Override
  public void mount(Router router) {
    router.get("/api/v1/requests").handler(this::list);
    router.get("/api/v1/requests/:id/explain").handler(this::explain);
  }

  private void list(RoutingContext context) {
    int limit = QueryParameters.of(context, false, "limit").count("limit", MAX_LISTED, LISTED);
    AdminResponses.read(context, AdminResponses.JSON, () -> list(limit));
  }

  private String list(int limit) {
    return latest(limit).encodePrettily() + "\n";
  }

  /** Returns the latest requests. Thread-safe. */
  public JsonObject latest(int limit) {
    return new JsonObject()
        .put("requests", AdminResponses.array(ring.latest(limit), ExplainJson::summary));
  }

  private void explain(RoutingContext context) {
    String format =
        QueryParameters.of(context, false, "format").word("format", List.of("text", "json"));
    String id = context.pathParam("id");
    boolean text = format == null ? prefersText(context) : format.equals("text");
    AdminResponses.read(
        context, text ? AdminResponses.TEXT : AdminResponses.JSON, () -> explain(id, text));
  }

  private String explain(String id, boolean text) {
    List<RequestExplanation> all = ring.explanations(id);
    List<RequestExplanation> shown = all.subList(0, Math.min(MAX_SHOWN, all.size()));
    if (shown.isEmpty()) {
      throw notKept();
    }
    if (text) {
      int more = all.size() - shown.size();
      return ExplainText.of(shown) + (more == 0 ? "" : "\nand " + more + " older records\n");
    }
    return new JsonObject()
            .put("request_id", id)
            .put("explanations", AdminResponses.array(shown, ExplainJson::of))
            .put("explanations_in_all", all.size())
            .encodePrettily()
        + "\n";
  }

  private static boolean prefersText(RoutingContext context) {
    String accept = context.request().getHeader(HttpHeaders.ACCEPT);
    return accept != null && accept.contains("text/plain") && !accept.contains(AdminResponses.JSON);
  }

  private AdminRefusal notKept() {
    int size = options.get(ExplainOptions.RING_SIZE);
    String kept = size + " are stored. " + howToAsk();
    String why =
        size == 0
            ? "Explanations are disabled: berth.explain.ring_size is 0."
            : "It was not explained, is still running, or was replaced by newer ones; the last "
                + kept;
    String what = "No explanation is stored for this request id.";
    return new AdminRefusal(404, "no_explanation", what, why);
  }

  private String howToAsk() {
    return options.get(ExplainOptions.HEADER)
        ? "To explain a request, send it with X-Berth-Explain: 1; or set berth.explain.sample_rate."
        : "To explain requests, set berth.explain.sample_rate, or allow X-Berth-Explain by"
            + " berth.explain.header.";
  }
}
