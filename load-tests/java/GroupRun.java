import java.io.IOException;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** Starts the servers of a group, warms them, checks that they answer the same, and measures. */
final class GroupRun {
  /** Headers that the transport makes, not who answers. */
  private static final Set<String> FRAMING =
      Set.of("transfer-encoding", "content-length", "connection");

  private final Group group;
  private final Servers servers;
  private final Path work;
  private final Progress progress;
  private final Map<String, Server> up = new HashMap<>();
  private final Set<String> warm = new HashSet<>();

  GroupRun(Group group, Servers servers, Path work, Progress progress) {
    this.group = group;
    this.servers = servers;
    this.work = work;
    this.progress = progress;
  }

  /** All rows in all rounds; the servers are ended in any case. */
  void run(Results results) throws IOException, InterruptedException {
    try {
      // Those of Berth first: a raw one plays back what a warm one answers, with an id of its
      // request that has grown to the length it keeps.
      for (ServerSpec spec : group.servers()) {
        if (spec instanceof ServerSpec.Berth berth) {
          up.put(spec.key(), servers.berth(spec.key(), berth.configuration()));
          warm(spec.key());
        }
      }
      for (ServerSpec spec : group.servers()) {
        if (spec instanceof ServerSpec.Raw raw) {
          up.put(spec.key(), raw(raw));
          warm(spec.key());
        }
      }
      check();
      rounds(results);
    } finally {
      servers.close();
    }
  }

  private Server raw(ServerSpec.Raw raw) throws IOException, InterruptedException {
    HttpResponse<byte[]> played = up.get(raw.playsBack()).get(raw.path());
    List<String> lines = new ArrayList<>();
    played
        .headers()
        .map()
        .forEach(
            (name, values) -> {
              if (!FRAMING.contains(name.toLowerCase(Locale.ROOT))) {
                values.forEach(value -> lines.add(name + ": " + value));
              }
            });
    Path headers = work.resolve("played-" + group.name() + "-" + raw.key() + ".headers");
    Path body = work.resolve("played-" + group.name() + "-" + raw.key() + ".body");
    Files.write(headers, lines);
    Files.write(body, played.body());
    List<String> arguments =
        new ArrayList<>(
            List.of(raw.kind(), String.valueOf(raw.loops()), headers.toString(), body.toString()));
    raw.certificate()
        .ifPresent(
            pem -> {
              arguments.add(pem.toString());
              arguments.add(pem.resolveSibling("key.pem").toString());
            });
    return servers.raw(raw.key(), raw.certificate(), arguments);
  }

  /** Each path of a server by the first row that has it. */
  private void warm(String server) throws IOException, InterruptedException {
    for (Row row : group.rows()) {
      if (row.server().equals(server) && warm.add(server + row.path())) {
        progress.tell(group.name() + ": warming " + row.name());
        try {
          row.client()
              .run(up.get(server).uri(row.path()), row.connections(), group.warmUpSeconds());
        } catch (IOException failed) {
          throw new IOException(row.name() + ", warming: " + failed.getMessage(), failed);
        }
      }
    }
  }

  /** What a row is compared with answers with the same bytes, but for the values of headers. */
  private void check() throws IOException, InterruptedException {
    for (Row row : group.rows()) {
      HttpResponse<byte[]> answer = answer(row);
      if (answer.statusCode() != 200) {
        throw new IOException(row.name() + ": status " + answer.statusCode());
      }
      Optional<Row> base =
          group.rows().stream()
              .filter(other -> row.baseline().equals(Optional.of(other.id())))
              .findFirst();
      if (base.isPresent()) {
        HttpResponse<byte[]> expected = answer(base.get());
        if (!Arrays.equals(answer.body(), expected.body())
            || !names(answer).equals(names(expected))) {
          throw new IOException(
              "%s answers %d bytes with %s, %s %d bytes with %s"
                  .formatted(
                      row.name(),
                      answer.body().length,
                      names(answer),
                      base.get().name(),
                      expected.body().length,
                      names(expected)));
        }
      }
    }
  }

  private HttpResponse<byte[]> answer(Row row) throws IOException, InterruptedException {
    return up.get(row.server()).get(row.path());
  }

  private static Set<String> names(HttpResponse<byte[]> answer) {
    Set<String> names = new TreeSet<>();
    answer.headers().map().keySet().forEach(name -> names.add(name.toLowerCase(Locale.ROOT)));
    names.removeAll(FRAMING);
    return names;
  }

  private void rounds(Results results) throws IOException, InterruptedException {
    List<Row> rows = group.rows();
    for (int round = 0; round < group.rounds(); round++) {
      for (int i = 0; i < rows.size(); i++) {
        // Each round starts with another row and every second one goes backwards.
        int place = (round + (round % 2 == 0 ? i : rows.size() - i)) % rows.size();
        Row row = rows.get(place);
        Sample sample;
        try {
          sample = Sample.of(row, up.get(row.server()), group.seconds());
        } catch (IOException failed) {
          throw new IOException(row.name() + ": " + failed.getMessage(), failed);
        }
        results.add(row, sample);
        progress.measured(group, row, round + 1, sample);
      }
    }
  }
}
