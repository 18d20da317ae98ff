package dev.berth.config;

/**
 * {@code berth.admin}: where the admin server listens.
 *
 * @param host name or address to listen on; it has no access control, so keep it private
 * @param port TCP port, 0 to 65535; 0 takes any free one
 */
public record AdminOptions(String host, int port) {

  static final Key<String> HOST =
      Key.of(
          "host",
          Types.text(),
          Defaults.ADMIN_HOST,
          "Name or address the admin server listens on. It has no access control: keep it"
              + " private.");
  static final Key<Integer> PORT =
      Key.of(
          "port",
          Types.port(),
          Defaults.ADMIN_PORT,
          "TCP port of the admin server; 0 takes any free one and logs it.");

  static final Section SECTION = Section.of(HOST, PORT);

  /** Checks each value against its key. */
  public AdminOptions {
    HOST.require(host);
    PORT.require(port);
  }

  static AdminOptions from(Values values) {
    return new AdminOptions(values.get(HOST), values.get(PORT));
  }
}
