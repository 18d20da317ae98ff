package dev.berth.config;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;

/**
 * {@code berth.admin}: where the admin server listens, and who may use it.
 *
 * @param host name or address to listen on
 * @param port TCP port, 0 to 65535; 0 takes any free one
 * @param bearerTokens of which every request must show one; empty lets everybody in who can connect
 * @param allowUnauthenticated whether it may be reached from other machines without a token
 */
public record AdminOptions(
    String host, int port, List<BearerToken> bearerTokens, boolean allowUnauthenticated) {

  static final Key<String> HOST =
      Key.of(
          "host",
          Types.text(),
          Defaults.ADMIN_HOST,
          "Name or address the admin server listens on. One that other machines reach needs"
              + " bearer_tokens, or allow_unauthenticated.");
  static final Key<Integer> PORT =
      Key.of(
          "port",
          Types.port(),
          Defaults.ADMIN_PORT,
          "TCP port of the admin server; 0 takes any free one and logs it.");
  static final Key<List<Values>> BEARER_TOKENS =
      Key.of(
          "bearer_tokens",
          Types.list(BearerToken.SECTION),
          List.of(),
          "Who may use the admin server: a request must show one of these secrets in Authorization:"
              + " Bearer. With none, everybody may who can connect.");
  static final Key<Boolean> ALLOW_UNAUTHENTICATED =
      Key.of(
          "allow_unauthenticated",
          Types.bool(),
          Defaults.ADMIN_ALLOW_UNAUTHENTICATED,
          "Lets the admin server be reached from other machines without a token. Whoever reaches it"
              + " can deploy code.");

  static final Section SECTION =
      Section.of(HOST, PORT, BEARER_TOKENS, ALLOW_UNAUTHENTICATED).check(AdminOptions::check);

  private static void check(Values values) {
    List<Values> tokens = values.find(BEARER_TOKENS);
    Values.requireUnique(tokens, BearerToken.NAME);
    String host = values.find(HOST);
    boolean open = Boolean.FALSE.equals(values.find(ALLOW_UNAUTHENTICATED));
    if (host != null && open && tokens != null && tokens.isEmpty() && !isLoopback(host)) {
      values.problem(
          HOST,
          '"'
              + Scalars.shorten(host)
              + "\", which other machines may reach, and nobody is asked for"
              + " a token",
          "127.0.0.1; or bearer_tokens beside it; or allow_unauthenticated: true, with which"
              + " whoever reaches it can deploy code");
    }
  }

  /** Without asking a name server: a name other than localhost may be anything tomorrow. */
  static boolean isLoopback(String host) {
    if (host.equalsIgnoreCase("localhost") || host.matches("127(\\.\\d{1,3}){3}")) {
      return true;
    }
    try {
      return host.contains(":") && InetAddress.getByName(host).isLoopbackAddress();
    } catch (UnknownHostException notAnAddress) {
      return false;
    }
  }

  /** Checks each value against its key. */
  public AdminOptions {
    HOST.require(host);
    PORT.require(port);
    bearerTokens = List.copyOf(bearerTokens);
  }

  /** One that asks nobody for a token. */
  public AdminOptions(String host, int port) {
    this(host, port, List.of(), false);
  }

  static AdminOptions from(Values values) {
    return new AdminOptions(
        values.get(HOST),
        values.get(PORT),
        values.get(BEARER_TOKENS).stream().map(BearerToken::from).toList(),
        values.get(ALLOW_UNAUTHENTICATED));
  }
}
