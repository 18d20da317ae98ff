package dev.berth.net.http;

import dev.berth.net.http.RequestEnds.Ended;
import dev.berth.net.http.RequestEnds.Rest;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A parser of HTTP/1 requests, by the grammar of RFC 9112 and the refusals of {@code docs/http.md}.
 * It shares nothing with {@link RequestDecoder} and Netty, and looks at a whole connection at once.
 */
final class StrictParser {
  private static final String TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
  private static final Pattern LINE =
      Pattern.compile("(" + TOKEN + ") ([\\x21-\\x7e]+) HTTP/(\\d)\\.(\\d)");
  private static final String PATH = "/(?:[\\x21-\\x7e&&[^%#?]]|%(?!00)[0-9A-Fa-f]{2})*";
  private static final Pattern ORIGIN = Pattern.compile(PATH + "(?:\\?[\\x21-\\x7e&&[^#]]*)?");
  private static final Pattern ABSOLUTE =
      Pattern.compile("(?i)https?://([^/?#]+)([/?].*)?", Pattern.DOTALL);
  private static final Pattern FIELD =
      Pattern.compile("(" + TOKEN + "):[ \t]*([\\x20-\\x7e\\x80-\\xff\t]*?)[ \t]*", Pattern.DOTALL);
  private static final Pattern VALUE = Pattern.compile("[\\x20-\\x7e\\x80-\\xff\t]*");
  private static final Pattern HOST =
      Pattern.compile(
          "(\\[[0-9A-Fa-f:.]+\\]|(?:[A-Za-z0-9\\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)(?::(\\d*))?");
  private static final Pattern CHUNK =
      Pattern.compile("0*([0-9A-Fa-f]{1,8})(?:[ \t]*(;.*))?", Pattern.DOTALL);

  /** Without {@code obs-text}, which the decoder refuses. */
  private static final Pattern EXTENSIONS =
      Pattern.compile(
          "(?:[ \t]*;[ \t]*T(?:[ \t]*=[ \t]*(?:T|\"(?:[\t !#-\\[\\]-~]|\\\\[\t -~])*\"))?)*"
              .replace("T", TOKEN));

  /** Fields that may be refused in several lines, though one line would say the same. */
  private static final Set<String> UNFOLDED = Set.of("host", "content-length", "transfer-encoding");

  /** Fields that are no trailers. */
  private static final Set<String> FRAMING =
      Set.of("content-length", "transfer-encoding", "trailer");

  /** Ends the reading of a connection. */
  private static final class End extends RuntimeException {
    private static final long serialVersionUID = 1;
    final Rest rest;

    End(Rest rest) {
      super(null, null, false, false);
      this.rest = rest;
    }
  }

  /** A field of a head; its value with folds replaced. */
  private record Field(String name, String value) {}

  private final String bytes;
  private final List<Ended> ended = new ArrayList<>();
  private int at;
  private boolean doubtful; // the request that is being read

  private StrictParser(String bytes) {
    this.bytes = bytes;
  }

  static RequestEnds read(String bytes) {
    StrictParser parser = new StrictParser(bytes);
    try {
      while (true) {
        parser.request();
      }
    } catch (End end) {
      boolean undecided = parser.doubtful && end.rest == Rest.OPEN; // its body is not whole
      return new RequestEnds(parser.ended, undecided ? Rest.UNDECIDED : end.rest);
    }
  }

  private static void require(boolean holds) {
    if (!holds) {
      throw new End(Rest.REFUSED);
    }
  }

  /** A line without its end, which is CR LF; no CR is in it. */
  private String line() {
    int end = bytes.indexOf('\n', at);
    if (end < 0) {
      throw new End(Rest.UNDECIDED);
    }
    require(end > at && bytes.charAt(end - 1) == '\r');
    String line = bytes.substring(at, end - 1);
    at = end + 1;
    return line;
  }

  private void request() {
    while (at < bytes.length() && "\r\n".indexOf(bytes.charAt(at)) >= 0) {
      at++; // empty lines before a request, and halves of them
    }
    if (at == bytes.length()) {
      throw new End(Rest.OPEN);
    }
    doubtful = false;
    Matcher line = LINE.matcher(line());
    require(line.matches());
    String method = line.group(1);
    require(!method.equals("CONNECT") && !method.equals("TRACE") && line.group(3).equals("1"));
    boolean old = line.group(4).equals("0");
    String target = line.group(2);
    String authority = null;
    Matcher absolute = ABSOLUTE.matcher(target);
    if (absolute.matches()) {
      authority = absolute.group(1);
      require(isHost(authority));
      target = originForm(method, absolute.group(2));
    }
    require((target.equals("*") && method.equals("OPTIONS")) || ORIGIN.matcher(target).matches());
    List<Field> fields = fields(false);
    String host = host(fields, old);
    require(
        !method.equals("GET")
            || values(fields, "sec-websocket-key1").isEmpty()
            || values(fields, "sec-websocket-key2").isEmpty());
    String body = body(fields, old);
    ended.add(new Ended(at, method, target, authority == null ? host : authority, body));
    if (doubtful) {
      throw new End(Rest.DOUBTFUL);
    }
  }

  private static String originForm(String method, @Nullable String rest) {
    if (rest == null) {
      return method.equals("OPTIONS") ? "*" : "/";
    }
    return rest.startsWith("/") ? rest : "/" + rest;
  }

  private List<Field> fields(boolean trailing) {
    List<Field> fields = new ArrayList<>();
    for (String line = line(); !line.isEmpty(); line = line()) {
      if (line.charAt(0) == ' ' || line.charAt(0) == '\t') {
        require(!fields.isEmpty());
        Field folded = fields.remove(fields.size() - 1);
        boolean strict = UNFOLDED.contains(folded.name);
        doubtful |= trailing || strict;
        String more = line.trim(); // RFC 9110, 5.5: a control character may count as a blank
        require(VALUE.matcher(more).matches());
        String value = folded.value + " " + more;
        fields.add(new Field(folded.name, strict ? value.strip() : value));
        continue;
      }
      Matcher field = FIELD.matcher(line);
      require(field.matches());
      fields.add(new Field(field.group(1).toLowerCase(Locale.ROOT), field.group(2)));
    }
    return fields;
  }

  private static List<String> values(List<Field> fields, String name) {
    return fields.stream().filter(field -> field.name.equals(name)).map(Field::value).toList();
  }

  private static @Nullable String host(List<Field> fields, boolean old) {
    List<String> hosts = values(fields, "host");
    require(hosts.size() == 1 || (old && hosts.isEmpty()));
    require(hosts.isEmpty() || isHost(hosts.get(0)));
    return hosts.isEmpty() ? null : hosts.get(0);
  }

  private static boolean isHost(String value) {
    Matcher host = HOST.matcher(value);
    if (!host.matches() || value.startsWith(":")) {
      return false;
    }
    String port = Objects.requireNonNullElse(host.group(2), "").replaceFirst("^0+", "");
    return (port.isEmpty() || (port.length() <= 5 && Integer.parseInt(port) <= 65535))
        && (!value.startsWith("[") || isAddress(host.group(1)));
  }

  private static boolean isAddress(String bracketed) {
    try {
      return InetAddress.getByName(bracketed) != null; // a literal: nothing is looked up
    } catch (UnknownHostException none) {
      return false;
    }
  }

  private String body(List<Field> fields, boolean old) {
    List<String> lengths = values(fields, "content-length");
    List<String> codings = values(fields, "transfer-encoding");
    if (codings.isEmpty()) {
      return lengths.isEmpty() ? "" : ofLength(lengths);
    }
    require(lengths.isEmpty() && !old);
    List<String> each = new ArrayList<>();
    for (String coding : String.join(",", codings).split(",", -1)) {
      String bare = coding.replaceAll("^[ \t]+|[ \t]+$", "").toLowerCase(Locale.ROOT);
      if (!bare.isEmpty()) {
        each.add(bare);
      }
    }
    require(each.equals(List.of("chunked")));
    return chunks();
  }

  private String ofLength(List<String> lengths) {
    require(lengths.size() == 1 && lengths.get(0).matches("[0-9]+"));
    String digits = lengths.get(0).replaceFirst("^0+(?=.)", "");
    require(
        digits.length() < 19
            || (digits.length() == 19 && digits.compareTo("9223372036854775807") <= 0));
    return take(Long.parseLong(digits));
  }

  private String take(long length) {
    if (length > bytes.length() - at) {
      throw new End(Rest.OPEN);
    }
    String taken = bytes.substring(at, at + (int) length);
    at += (int) length;
    return taken;
  }

  private String chunks() {
    StringBuilder body = new StringBuilder();
    while (true) {
      Matcher line = CHUNK.matcher(line());
      require(line.matches());
      long size = Long.parseLong(line.group(1), 16);
      require(size <= Integer.MAX_VALUE);
      String extensions = line.group(2);
      if (extensions != null && !EXTENSIONS.matcher(extensions).matches()) {
        require(extensions.indexOf('\r') < 0);
        doubtful = true;
      }
      if (size == 0) {
        trailers();
        return body.toString();
      }
      body.append(take(size));
      require("\r\n".startsWith(bytes.substring(at, Math.min(at + 2, bytes.length()))));
      take(2);
    }
  }

  /** Fields that are dropped; those that frame a message come before it. */
  private void trailers() {
    for (Field field : fields(true)) {
      require(!FRAMING.contains(field.name));
    }
  }
}
