package dev.berth.admin;

import dev.berth.config.keys.Settings;
import java.util.function.IntSupplier;

/**
 * Where this instance takes requests, and whether it does.
 *
 * @param options as configured
 * @param port that it listens on
 * @param status as {@code serve_proxy_status} has it: 1 starting, 2 healthy, 4 draining
 */
public record HttpView(Settings options, IntSupplier port, IntSupplier status) {

  /**
   * The status in Ray Serve's words.
   *
   * @param empty whether there is no application, so that none is waited for either
   */
  String statusName(boolean empty) {
    return switch (status.getAsInt()) {
      case 1 -> empty ? "HEALTHY" : "STARTING";
      case 4 -> "DRAINING";
      default -> "HEALTHY";
    };
  }
}
