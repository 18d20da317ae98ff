package dev.berth.config;

import dev.berth.config.admin.PlayOptions;
import dev.berth.config.admin.TlsOptions;
import dev.berth.config.keys.ConfigKey;
import dev.berth.config.keys.Keys;
import dev.berth.config.keys.Section;
import dev.berth.config.keys.Settings;
import dev.berth.config.keys.Types;
import dev.berth.config.keys.YamlScalars;
import dev.berth.net.tls.TlsFiles;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** {@code berth.admin}: the listener of the admin server, and access to it. */
public final class AdminOptions {

  /** Default of {@link #HOST}. */
  public static final String DEFAULT_HOST = "127.0.0.1";

  /** Default of {@link #PORT}. */
  public static final int DEFAULT_PORT = 8265;

  private static final Keys KEYS = new Keys();

  public static final ConfigKey<String> HOST =
      KEYS.key("host", Types.TEXT, DEFAULT_HOST)
          .means(
              "Listen name or address of the admin server. An address that other machines can reach"
                  + " requires bearer_tokens, or allow_unauthenticated.");
  public static final ConfigKey<Integer> PORT =
      KEYS.key("port", Types.PORT, DEFAULT_PORT)
          .means("TCP port of the admin server; 0 selects a free one and logs it.");
  public static final ConfigKey<List<Settings>> BEARER_TOKENS =
      KEYS.key("bearer_tokens", Types.list(BearerToken.ADMIN_SECTION), List.of())
          .means(
              "Secrets that admit a request to the admin server, in Authorization: Bearer. Without"
                  + " any, every client that can connect is admitted, as an operator.");
  public static final ConfigKey<Boolean> ALLOW_UNAUTHENTICATED =
      KEYS.key("allow_unauthenticated", Types.BOOL, false)
          .means(
              "Allows access to the admin server from other machines without a token. Every client"
                  + " that reaches it can deploy code.");
  public static final ConfigKey<Boolean> HTTP2 =
      KEYS.key("http2", Types.BOOL, false)
          .means(
              "Whether the admin server accepts HTTP/2 beside HTTP/1.1: in clear text, or with tls by"
                  + " ALPN.");
  public static final ConfigKey<Boolean> DASHBOARD =
      KEYS.key("dashboard", Types.BOOL, true)
          .means("Whether the admin server serves its page for browsers, and the page's feed.");
  public static final ConfigKey<Settings> TLS =
      KEYS.optional("tls", TlsOptions.SECTION)
          .means("TLS of the admin server, which then accepts nothing else. null: clear text.");
  public static final ConfigKey<Settings> PLAY =
      KEYS.mapping("play", PlayOptions.SECTION)
          .means("Limits of the requests that operators send from the page to the HTTP port.");
  public static final ConfigKey<Integer> MAX_VIEWERS =
      KEYS.key("max_viewers", Types.integer(0, 200, "viewers"), 64)
          .means(
              "Maximum number of concurrent viewers of the live feed, each with one of the admin"
                  + " server's 256 connections; more get 503.");

  static final Section SECTION = KEYS.section().check(AdminOptions::check);

  private static void check(Settings values) {
    List<Settings> tokens = values.find(BEARER_TOKENS);
    values.requireUnique(BEARER_TOKENS, BearerToken.NAME);
    String host = values.find(HOST);
    boolean anybody = Boolean.FALSE.equals(values.find(ALLOW_UNAUTHENTICATED));
    if (host != null && anybody && tokens != null && tokens.isEmpty() && !isLoopback(host)) {
      String open = "\", reachable from other machines without a token";
      values.problem(
          HOST,
          '"' + YamlScalars.shorten(host) + open,
          "127.0.0.1; or bearer_tokens; or allow_unauthenticated: true, which lets every client"
              + " that reaches it deploy code");
    }
  }

  /**
   * Returns whether a host is a loopback address. Makes no DNS query: a name other than localhost
   * may resolve to another address later.
   */
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

  /** Returns the TLS files of the admin server; null without TLS. */
  public static @Nullable TlsFiles tls(Settings settings) {
    Settings tls = settings.find(TLS);
    return tls == null ? null : TlsOptions.files(tls);
  }

  private AdminOptions() {}
}
