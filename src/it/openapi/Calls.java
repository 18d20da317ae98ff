import it.client.ApiClient;
import it.client.ApiException;
import it.client.api.DefaultApi;
import it.client.model.Found;
import it.client.model.Part;
import it.client.model.Thing;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Calls of the generated client, each compared with what it must return. */
public final class Calls {
  private static int calls;

  private static void check(String name, Object is, Object must) {
    calls++;
    if (!is.equals(must)) {
      throw new AssertionError(name + ": " + is + " (expected: " + must + ")");
    }
  }

  private static ApiException refused(Callable call) throws Exception {
    try {
      call.call();
    } catch (ApiException refused) {
      return refused;
    }
    throw new AssertionError("not refused");
  }

  private interface Callable {
    Object call() throws Exception;
  }

  public static void main(String[] args) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(args[0]);
    DefaultApi api = new DefaultApi(client);
    UUID id = UUID.fromString("0f8fad5b-d9cb-469f-a165-70867728950e");
    Thing thing =
        new Thing()
            .id(id)
            .name("a/b ü?")
            .color(Thing.ColorEnum.GREEN)
            .parts(List.of(new Part().name("p").count(3)))
            .sizes(Map.of("x", 5_000_000_000L))
            .day(LocalDate.of(2026, 1, 31))
            .at(OffsetDateTime.parse("2026-01-31T12:30:00Z"))
            .weight(1.5);
    check("put", api.putThing(id, thing), thing);
    check("get", api.getThing(id), thing);
    Found found = api.findThings("me", 20, "GREEN", List.of("other", "a/b ü?"));
    check("find", found.getThings(), List.of(thing));
    check("tenant", found.getTenant(), "me");
    check("limit", found.getLimit(), 20);
    check("default", api.findThings("me", null, null, null).getLimit(), 10);
    check("none", api.findThings("me", null, "RED", null).getThings(), List.of());
    check("text", api.echoText("a/b ü%"), "a/b ü%");
    ApiException bad =
        refused(
            () ->
                api.putThing(
                    id, new Thing().name("x").parts(List.of(new Part().name(" ").count(10)))));
    check("status", bad.getCode(), 400);
    for (String field : List.of("name", "parts[0].name", "parts[0].count", "color", "day")) {
      check(
          field + " in " + bad.getResponseBody(),
          bad.getResponseBody().contains("\"field\":\"" + field + "\""),
          true);
    }
    check("limit", refused(() -> api.findThings("me", 51, null, null)).getCode(), 400);
    api.removeThing(id);
    check("removed", refused(() -> api.getThing(id)).getCode(), 404);
    System.out.println(calls + " checks hold");
  }
}
