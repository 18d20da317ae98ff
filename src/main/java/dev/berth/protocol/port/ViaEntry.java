package dev.berth.protocol.port;

/**
 * The entry that an instance adds to the {@code Via} header of requests to upstreams. A request
 * that carries the entry already has passed the instance, so it runs in a loop (RFC 9110, section
 * 7.6.3).
 *
 * @param pseudonym name of the instance in the header, unique for each start
 */
public record ViaEntry(String pseudonym) {
  /** The lower-case name of the header. */
  public static final String HEADER = "via";

  /**
   * Returns the entry of an instance.
   *
   * @param incarnation the random number of its start
   */
  public static ViaEntry of(long incarnation) {
    return new ViaEntry("berth-" + Long.toHexString(incarnation));
  }

  /** Returns the value to append to the header: protocol version and pseudonym. */
  public String value() {
    return "1.1 " + pseudonym;
  }

  /** Returns whether the values of the header contain this entry, with any protocol version. */
  public boolean isIn(Iterable<String> values) {
    for (String value : values) {
      for (String entry : value.split(",")) {
        String[] parts = entry.trim().split("[ \t]+", 3); // protocol, name, comment
        if (parts.length > 1 && parts[1].equalsIgnoreCase(pseudonym)) {
          return true;
        }
      }
    }
    return false;
  }
}
