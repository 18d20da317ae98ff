package dev.berth.ingress.edge;

import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Content coding that the ingress reads and writes (RFC 9110, 8.4.1). */
enum ContentCoding {
  GZIP,
  DEFLATE;

  /** Maximum number of codings in a line. Further ones do not count. */
  private static final int MAX_CODINGS = 32;

  /** Name in headers. */
  final String token = name().toLowerCase(Locale.ROOT);

  /** Returns the coding of a name; null if unknown. */
  static @Nullable ContentCoding of(String name) {
    return switch (name.strip().toLowerCase(Locale.ROOT)) {
      case "gzip", "x-gzip" -> GZIP;
      case "deflate" -> DEFLATE;
      default -> null;
    };
  }

  /**
   * Returns the coding that a client prefers; null for none. A client that refuses an unchanged
   * response and both codings gets it unchanged.
   *
   * @param accepted values of {@code Accept-Encoding}
   */
  static @Nullable ContentCoding preferred(List<String> accepted) {
    double[] qualities = {-1, -1}; // -1: not named
    double any = -1;
    double identity = -1;
    for (String line : accepted) {
      for (String each : line.split(",", MAX_CODINGS)) {
        int end = each.indexOf(';');
        String name = (end < 0 ? each : each.substring(0, end)).strip();
        double quality = end < 0 ? 1 : quality(each.substring(end + 1));
        ContentCoding coding = of(name);
        if (coding != null) {
          qualities[coding.ordinal()] = quality;
        } else if (name.equals("*")) {
          any = quality;
        } else if (name.equalsIgnoreCase("identity")) {
          identity = quality;
        }
      }
    }
    double gzip = qualities[0] < 0 ? any : qualities[0];
    double deflate = qualities[1] < 0 ? any : qualities[1];
    double best = Math.max(gzip, deflate);
    return best <= 0 || best < identity ? null : gzip >= deflate ? GZIP : DEFLATE;
  }

  /** Returns the weight in a parameter; 0 if malformed, so that nothing unwanted is sent. */
  private static double quality(String parameter) {
    String text = parameter.replace(" ", "").replace("\t", "");
    return text.matches("[qQ]=(0(\\.\\d{0,3})?|1(\\.0{0,3})?)")
        ? Double.parseDouble(text.substring(2))
        : 0;
  }
}
