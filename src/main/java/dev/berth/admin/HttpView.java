package dev.berth.admin;

import dev.berth.config.keys.Settings;
import java.util.function.IntSupplier;

/**
 * View of the HTTP ingress of this instance.
 *
 * @param options settings of the ingress
 * @param port listening port
 * @param status value of {@code serve_proxy_status}: 1 starting, 2 healthy, 4 draining
 */
public record HttpView(Settings options, IntSupplier port, IntSupplier status) {

  /**
   * Returns the status in Ray Serve's terms.
   *
   * @param empty whether there is no application; then the status does not wait for one
   */
  String statusName(boolean empty) {
    return switch (status.getAsInt()) {
      case 1 -> empty ? "HEALTHY" : "STARTING";
      case 4 -> "DRAINING";
      default -> "HEALTHY";
    };
  }
}
