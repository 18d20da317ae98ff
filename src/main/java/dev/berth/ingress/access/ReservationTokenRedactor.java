package dev.berth.ingress.access;

import java.util.regex.Pattern;

/** Removes reservation tokens from logged paths. */
final class ReservationTokenRedactor {
  private static final Pattern TOKEN = Pattern.compile("(?<=/reservations/)[^/]{32,}");

  private ReservationTokenRedactor() {}

  static String hidden(String path) {
    return path.contains("/reservations/") ? TOKEN.matcher(path).replaceAll("-") : path;
  }
}
