import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Keeps connections to several servers open, and asks one of them for a slice: arguments {@code
 * PORT/PATH[*CONNECTIONS] …}, 64 connections to each without another number; a line {@code INDEX MILLIS} is answered with how many
 * answers came, and p50 and p99 in microseconds.
 */
public final class Asking {
  private static final int CONNECTIONS = 64;

  private Asking() {}

  public static void main(String[] args) throws Exception {
    try (SliceClient client = new SliceClient()) {
      List<Connections> open = new ArrayList<>();
      for (String each : args) {
        int port = Integer.parseInt(each.substring(0, each.indexOf('/')));
        String[] path = each.substring(each.indexOf('/')).split("\\*");
        int connections = path.length > 1 ? Integer.parseInt(path[1]) : CONNECTIONS;
        open.add(
            client.open(
                new Server(each, List.of(), port, 0, List.of(), Optional.empty()),
                Row.of(each, each, each, Ask.get(path[0]), connections)));
      }
      BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
      for (String line = orders.readLine(); line != null; line = orders.readLine()) {
        String[] order = line.split(" ");
        Slice slice = open.get(Integer.parseInt(order[0])).ask(Long.parseLong(order[1]));
        System.out.printf("%d %.0f %.0f%n", slice.answers(), slice.micros(0.5), slice.micros(0.99));
      }
    }
  }
}
