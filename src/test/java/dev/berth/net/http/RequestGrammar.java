package dev.berth.net.http;

/**
 * Makes the bytes of a connection of choices: one to three requests, most of them well-formed, with
 * something put in, taken out or doubled somewhere. Each byte makes one choice; a choice of 0 is
 * the ordinary one, so that fewer and smaller bytes make a simpler connection.
 */
final class RequestGrammar {
  private static final String[] METHODS = {
    "GET", "POST", "GET", "OPTIONS", "HEAD", "get", "PURGE", "CONNECT", "TRACE", "G@T", ""
  };
  private static final String[] TARGETS = {
    "/",
    "/x",
    "/a?b=%",
    "http://b/x",
    "http://b:81",
    "HTTPS://b?q",
    "*",
    "/%00",
    "//b/x",
    "/%4",
    "ftp://b/x",
    "b:80",
    "/x#y",
    "http://u@b/",
    "http://:80/",
    "/caf\u00e9"
  };
  private static final String[] VERSIONS = {
    "HTTP/1.1", "HTTP/1.0", "HTTP/1.1", "HTTP/1.2", "HTTP/2.0", "HTTP/1.10", "http/1.1", "HTTP/1"
  };
  private static final String[] NAMES = {
    "X",
    "Content-Length",
    "Transfer-Encoding",
    "Sec-WebSocket-Key1",
    "Sec-WebSocket-Key2",
    "Host",
    "content-length",
    "TRANSFER-ENCODING",
    "Connection",
    "Upgrade",
    "Expect",
    "Trailer",
    "X Y",
    "",
    "X\u00e9",
    "Sec-WebSocket-Version",
    "Sec-WebSocket-Origin",
    "Content-Zength",
    "Content-Range"
  };
  private static final String[] VALUES = {
    "a",
    "5",
    "chunked",
    "0",
    "8",
    "b",
    "",
    "Chunked",
    "5, 5",
    "+5",
    "05",
    "0x5",
    "gzip, chunked",
    "chunked, chunked",
    ", chunked",
    "identity",
    "99999999999999999999",
    "9223372036854775807",
    "close",
    "keep-alive",
    "h2c",
    "websocket",
    "100-continue",
    "a\r\n b",
    "5\r\n ",
    "chunked\r\n\t",
    "a\u0000b",
    "\u00b2",
    "multipart/byteranges; boundary=a",
    "[::1]:80",
    "a:65536",
    "\tchunked\t"
  };
  private static final String[] BODIES = {
    "",
    "hello",
    "5\r\nhello\r\n0\r\n\r\n",
    "XXXXXXXX",
    "GET /nosuch HTTP/1.1\r\nHost: a\r\n\r\n",
    "0\r\n\r\n",
    "0\r\nX: y\r\n\r\n",
    "5;a=\"b;\"\r\nhello\r\n0;f\r\n\r\n",
    "05\r\nhello\r\n00\r\n\r\n",
    "5 \r\nhello\r\n0\r\n\r\n",
    "5 ;a\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n",
    "80000000\r\nhello\r\n0\r\n\r\n",
    "7fffffff\r\nhello",
    "100000005\r\nhello\r\n0\r\n\r\n",
    "A\r\nhellohello\r\n0\r\nX: a\r\n b\r\n\r\n",
    "5\nhello\r\n0\r\n\r\n",
    "5\r\nhello0\r\n\r\n"
  };
  private static final String[] ODD = {
    "\r\n",
    "\n",
    "\r",
    " ",
    "\t",
    "0",
    "a",
    ":",
    "\u0000",
    "\u000b",
    "\u000c",
    ";",
    ",",
    "\"",
    "\u007f",
    "\u00ff",
    "\u00a0",
    "\u0085",
    "Content-Length: 5\r\n",
    "Host: c\r\n",
    "\r\n ",
    "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    "Transfer-Encoding: chunked\r\n",
    "\r\n\r\n",
    "%",
    "/"
  };

  private final byte[] choices;
  private int next;

  private RequestGrammar(byte[] choices) {
    this.choices = choices;
  }

  static String of(byte[] choices) {
    return new RequestGrammar(choices).connection();
  }

  private int choose(int count) {
    return next < choices.length ? Math.floorMod(choices[next++], count) : 0;
  }

  private String one(String... of) {
    return of[choose(of.length)];
  }

  /** Whether something rare is to be, one time in so many. */
  private boolean rarely(int times) {
    return choose(times) == times - 1;
  }

  private String connection() {
    StringBuilder made = new StringBuilder();
    for (int left = 1 + choose(3); left > 0; left--) {
      request(made);
    }
    for (int left = choose(8) - 5; left > 0; left--) {
      int at = choose(256) * (made.length() + 1) / 256;
      int to = Math.min(made.length(), at + choose(8));
      if (rarely(3)) {
        made.insert(at, made.substring(at, to));
      } else {
        made.replace(at, rarely(2) ? to : at, one(ODD));
      }
    }
    return made.toString();
  }

  private void request(StringBuilder made) {
    String blank = rarely(64) ? one(ODD) : " ";
    made.append(rarely(16) ? one(METHODS) : one("GET", "POST"))
        .append(blank)
        .append(rarely(8) ? one(TARGETS) : "/")
        .append(blank)
        .append(rarely(16) ? one(VERSIONS) : "HTTP/1.1")
        .append("\r\n");
    if (!rarely(64)) {
      made.append("Host: a\r\n");
    }
    int kind = choose(6);
    if (kind == 1) {
      made.append("Content-Length: ").append(one("5", "8", "0", "16")).append("\r\n");
    } else if (kind == 2) {
      made.append("Transfer-Encoding: chunked\r\n");
    } else if (kind == 3) {
      made.append("Sec-WebSocket-Key1: a\r\n");
    }
    for (int left = choose(6) - 3; left > 0; left--) {
      made.append(one(NAMES))
          .append(rarely(24) ? one(ODD) : ": ")
          .append(rarely(2) ? one(VALUES) : "a")
          .append("\r\n");
    }
    made.append("\r\n");
    if (kind == 1) {
      made.append(rarely(3) ? one(BODIES) : "hello");
    } else if (kind == 2) {
      made.append(rarely(2) ? one(BODIES) : "5\r\nhello\r\n0\r\n\r\n");
    } else {
      made.append(rarely(4) ? one(BODIES) : "");
    }
  }
}
