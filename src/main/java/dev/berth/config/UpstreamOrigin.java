package dev.berth.config;

import dev.berth.config.keys.ParseContext;
import dev.berth.config.keys.Schema;
import dev.berth.config.keys.Type;
import dev.berth.config.keys.YamlScalars;
import io.netty.util.NetUtil;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.nodes.Node;

/**
 * The origin of an upstream: {@code http}, {@code https}, or the path of a unix domain socket.
 * Equal origins have equal texts: lower case, addresses in their shortest form, no default port.
 *
 * @param scheme {@code http}, {@code https} or {@code unix}
 * @param host name or address, without the brackets of IPv6; the path of a unix domain socket
 * @param port from 1 to 65535; 0 for a unix domain socket
 */
public record UpstreamOrigin(String scheme, String host, int port) {
  static final String EXPECTED =
      "an origin without path or credentials, such as https://models.example, http://10.0.0.7:8000"
          + " or unix:/run/model.sock";

  private static final String PATTERN =
      "^(unix:/[!-~]+|https?://([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?/?)$";
  private static final Pattern URL =
      Pattern.compile("(https?)://(?:([a-z0-9._-]+)|\\[([0-9a-f:.]+)])(?::([0-9]{1,5}))?/?");
  private static final Pattern NAME =
      Pattern.compile("(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62}\\.?[a-z0-9_]|[a-z0-9_])*");
  private static final Pattern NUMBER = Pattern.compile("(.*\\.)?([0-9]+|0x[0-9a-f]*)");

  static final Type<UpstreamOrigin> TYPE = new UrlType();

  /** The type of URLs; a problem shows no text that may contain credentials. */
  private static final class UrlType implements Type<UpstreamOrigin> {
    @Override
    public String expected() {
      return EXPECTED;
    }

    @Override
    public @Nullable UpstreamOrigin read(Node node, ParseContext place) {
      String text = YamlScalars.string(node);
      UpstreamOrigin origin = text == null ? null : parse(text);
      if (origin == null) {
        boolean shown = text == null || text.indexOf('@') < 0 && text.indexOf('?') < 0;
        place.problem(node, shown ? YamlScalars.show(node) : "with more than that", EXPECTED);
      }
      return origin;
    }

    @Override
    public Map<String, Object> schema() {
      return Schema.text(PATTERN);
    }
  }

  /** Parses an origin; null when {@code text} is none. */
  static @Nullable UpstreamOrigin parse(String text) {
    if (text.matches("unix:/[!-~]{1,107}")) { // at most the size of sun_path on Linux
      return new UpstreamOrigin("unix", text.substring("unix:".length()), 0);
    }
    Matcher url = URL.matcher(text.toLowerCase(Locale.ROOT));
    if (!url.matches()) {
      return null;
    }
    String scheme = url.group(1);
    String host = url.group(3) == null ? name(url.group(2)) : address(url.group(3));
    int usual = scheme.equals("http") ? 80 : 443;
    int port = url.group(4) == null ? usual : Integer.parseInt(url.group(4));
    return host == null || port < 1 || port > 65_535
        ? null
        : new UpstreamOrigin(scheme, host, port);
  }

  /** Returns a valid name or IPv4 address; null for numbers that resolvers read as addresses. */
  private static @Nullable String name(String host) {
    boolean valid =
        NUMBER.matcher(host).matches()
            ? NetUtil.isValidIpV4Address(host)
            : NAME.matcher(host).matches();
    return valid ? host : null;
  }

  private static @Nullable String address(String host) {
    byte[] bytes = NetUtil.createByteArrayFromIpAddressString(host);
    return bytes == null || bytes.length != 16 ? null : NetUtil.bytesToIpAddress(bytes);
  }

  public boolean isTls() {
    return scheme.equals("https");
  }

  public boolean isUnix() {
    return scheme.equals("unix");
  }

  /** Returns whether the host is a literal address, which needs no resolution. */
  public boolean isAddress() {
    return NetUtil.isValidIpV4Address(host) || NetUtil.isValidIpV6Address(host);
  }

  /** Returns whether the text alone proves that bytes stay on this host. */
  public boolean isLoopback() {
    return isUnix()
        || host.equals("localhost")
        || host.equals("::1")
        || NetUtil.isValidIpV4Address(host) && host.startsWith("127.");
  }

  /** Returns the value of the Host header: the port only if it is not the default. */
  public String authority() {
    if (isUnix()) {
      return "localhost";
    }
    String name = host.indexOf(':') < 0 ? host : "[" + host + "]";
    return port == (isTls() ? 443 : 80) ? name : name + ":" + port;
  }

  /** Returns the text that identifies the origin. */
  @Override
  public String toString() {
    return isUnix() ? "unix:" + host : scheme + "://" + authority();
  }
}
