package dev.berth.protocol.port;

import dev.berth.api.DeploymentId;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/**
 * The header of a request between the ingress and the replicas of {@code berth:openai}: the place
 * of the model in the body, and its name for each deployment that may serve the request, as in
 * {@code 10-14;chat=llama-3;other=gpt-4o}. The ingress replaces a header of a client.
 *
 * @param start offset of the model's first byte, behind its quote
 * @param end offset of the quote that ends the model
 * @param name for the upstreams of one deployment; null for no name of its own
 */
public record ModelHeader(int start, int end, @Nullable String name) {
  /** The lower-case name of the header. */
  public static final String HEADER = "x-berth-model";

  /** Returns the part of the header for one deployment, which follows the others. */
  public static String part(DeploymentId deployment, String name) {
    return before(deployment) + name;
  }

  /** Returns the whole value, from the parts in one text. */
  public static String value(int start, int end, String parts) {
    return start + "-" + end + parts;
  }

  private static String before(DeploymentId deployment) {
    String name = deployment.name();
    return ";" + URLEncoder.encode(name, StandardCharsets.UTF_8) + "=";
  }

  /** Reads the header for one deployment; null when there is none, or an invalid one. */
  public static @Nullable ModelHeader read(@Nullable String value, DeploymentId deployment) {
    int dash = value == null ? -1 : value.indexOf('-');
    if (value == null || dash < 0) {
      return null;
    }
    int stop = value.indexOf(';') < 0 ? value.length() : value.indexOf(';');
    int start;
    int end;
    try {
      start = Integer.parseInt(value, 0, dash, 10);
      end = Integer.parseInt(value, dash + 1, stop, 10);
    } catch (NumberFormatException | IndexOutOfBoundsException invalid) {
      return null;
    }
    if (start < 1 || end <= start) {
      return null;
    }
    String before = before(deployment);
    int at = value.indexOf(before, stop);
    int from = at + before.length();
    int until = at < 0 ? -1 : value.indexOf(';', from);
    String name = at < 0 ? null : value.substring(from, until < 0 ? value.length() : until);
    return new ModelHeader(start, end, name);
  }
}
