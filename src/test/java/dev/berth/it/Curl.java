package dev.berth.it;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The few options of {@code curl} that the documentation uses, so that what it shows is run as a
 * test on a machine without curl.
 */
final class Curl {
  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final Map<Integer, String> REASONS =
      Map.of(
          200, "OK",
          201, "Created",
          400, "Bad Request",
          404, "Not Found",
          408, "Request Timeout",
          413, "Request Entity Too Large",
          429, "Too Many Requests",
          500, "Internal Server Error",
          503, "Service Unavailable");

  private @Nullable String method;
  private final List<String[]> headers = new ArrayList<>();
  private @Nullable BodyPublisher body;
  private boolean withHead;
  private boolean form;
  private HttpClient.Version version = HttpClient.Version.HTTP_1_1;
  private String url = "";

  private Curl() {}

  /**
   * Runs one command line.
   *
   * @param address from the host and port that the text names to those of the test's server
   * @return what curl would print: with {@code -i} the head first
   */
  static String run(String line, UnaryOperator<String> address)
      throws IOException, InterruptedException {
    Curl command = parse(line);
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(address.apply(command.url))).timeout(LIMIT);
    command.headers.forEach(header -> request.header(header[0], header[1]));
    if (command.form && command.headers.stream().noneMatch(Curl::isContentType)) {
      request.header("content-type", "application/x-www-form-urlencoded");
    }
    BodyPublisher sent = command.body;
    String method = command.method != null ? command.method : sent == null ? "GET" : "POST";
    request.method(method, sent == null ? BodyPublishers.noBody() : sent);
    // One client each: what an earlier command left behind must not matter.
    HttpClient client = HttpClient.newBuilder().version(command.version).build();
    HttpResponse<String> response =
        client.send(request.build(), HttpResponse.BodyHandlers.ofString(StandardCharsets.UTF_8));
    return (command.withHead ? head(response) : "") + response.body();
  }

  private static boolean isContentType(String[] header) {
    return header[0].equalsIgnoreCase("content-type");
  }

  private static String head(HttpResponse<String> response) {
    int status = response.statusCode();
    StringBuilder head = new StringBuilder();
    if (response.version() == HttpClient.Version.HTTP_2) {
      head.append("HTTP/2 ").append(status);
    } else {
      head.append("HTTP/1.1 ").append(status).append(' ').append(REASONS.get(status));
    }
    head.append('\n');
    response
        .headers()
        .map()
        .forEach(
            (name, values) ->
                values.forEach(
                    value -> {
                      if (!name.startsWith(":")) {
                        head.append(name).append(": ").append(value).append('\n');
                      }
                    }));
    return head.append('\n').toString();
  }

  private static Curl parse(String line) throws IOException {
    Deque<String> words = new ArrayDeque<>(words(line));
    if (!words.removeFirst().equals("curl")) {
      throw new IllegalArgumentException("command: " + line + " (expected: curl)");
    }
    Curl command = new Curl();
    while (!words.isEmpty()) {
      String word = words.removeFirst();
      switch (word) {
        case "-X" -> command.method = words.removeFirst();
        case "-H" -> command.headers.add(words.removeFirst().split(":\\s*", 2));
        case "-d" -> {
          command.form = true;
          command.body = BodyPublishers.ofString(words.removeFirst());
        }
        case "--data-binary" -> {
          command.form = true;
          String data = words.removeFirst();
          command.body =
              data.startsWith("@")
                  ? BodyPublishers.ofFile(Path.of(data.substring(1)))
                  : BodyPublishers.ofString(data);
        }
        case "--http2-prior-knowledge" -> command.version = HttpClient.Version.HTTP_2;
        default -> {
          if (word.matches("-[siNS]+")) {
            command.withHead |= word.contains("i");
          } else if (word.startsWith("-")) {
            throw new IllegalArgumentException("option: " + word + " (expected: a known one)");
          } else {
            command.url = word.contains("://") ? word : "http://" + word;
          }
        }
      }
    }
    return command;
  }

  /** Splits as a shell does, with quotes and without anything else. */
  static List<String> words(String line) {
    List<String> words = new ArrayList<>();
    StringBuilder word = new StringBuilder();
    boolean inWord = false;
    char quote = 0;
    for (char c : line.toCharArray()) {
      if (quote != 0) {
        if (c == quote) {
          quote = 0;
        } else {
          word.append(c);
        }
      } else if (c == '\'' || c == '"') {
        quote = c;
        inWord = true;
      } else if (Character.isWhitespace(c)) {
        if (inWord) {
          words.add(word.toString());
          word.setLength(0);
          inWord = false;
        }
      } else if (c == '#' && !inWord) {
        break; // a comment
      } else {
        word.append(c);
        inWord = true;
      }
    }
    if (inWord) {
      words.add(word.toString());
    }
    return words;
  }
}
